/* popt includes this header to read the width of the terminal. Windows has none; without TIOCGWINSZ
 * popt assumes 79 columns. */
