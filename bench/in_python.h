/* The commands of tenon-bench that are written in Python. */
#ifndef BENCH_IN_PYTHON_H
#define BENCH_IN_PYTHON_H

/* Replaces the process by Python, with the modules of python/tenon/bench and the arguments from
 * argv[1] on. Their folder is found relative to the program: ../python/tenon/bench in a build
 * folder, ../share/tenon/bench in an installation. TENON_BENCH_PYTHON names another interpreter
 * than python3. Returns an exit status, after a message on stderr, if the modules or Python are
 * missing. */
int bench_python(int argc, char **argv);

#endif
