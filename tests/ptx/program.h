/* A PTX module: the output of parse.c and the input of machine.c. */
#ifndef PTX_PROGRAM_H
#define PTX_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PTX_MAX_PARTS    16 /* of an opcode: "mma", "sync", … */
#define PTX_MAX_OPERANDS 12

typedef enum ptx_kind { PTX_BITS, PTX_UNSIGNED, PTX_SIGNED, PTX_FLOAT, PTX_BFLOAT } ptx_kind;

typedef struct ptx_type {
    uint8_t kind;  /* ptx_kind; tf32 is PTX_FLOAT with 19 bits, stored in 32 */
    uint8_t bits;  /* per element; 1 for predicates, 0 for no type */
    uint8_t count; /* elements packed into the value */
} ptx_type;

typedef enum ptx_space {
    PTX_GENERIC,
    PTX_GLOBAL,
    PTX_SHARED,
    PTX_LOCAL,
    PTX_PARAM, /* of the kernel; parameters of functions are in local memory */
    PTX_CONST
} ptx_space;

typedef enum ptx_form {
    PTX_REGISTER,
    PTX_IMMEDIATE,
    PTX_SPECIAL, /* %tid.x */
    PTX_SYMBOL,  /* the address of a variable */
    PTX_LABEL,   /* an instruction or a function */
    PTX_VECTOR,
    PTX_ADDRESS, /* [register + offset], [symbol + offset] */
    PTX_SINK     /* _ */
} ptx_form;

typedef struct ptx_operand ptx_operand;
struct ptx_operand {
    uint8_t form;      /* ptx_form */
    uint8_t space;     /* of a symbol, or of an address that names one */
    bool negated;      /* !%p */
    bool has_register; /* for an address */
    int number;     /* register, special register or label; for a vector, the number of elements */
    int also;       /* the register after a '|', or -1 */
    uint64_t value; /* immediate; offset */
    ptx_operand *elements;
};

/* Bits of ptx_instruction.flags. */
#define PTX_FTZ     (1u << 0)
#define PTX_SAT     (1u << 1) /* .sat, .satfinite */
#define PTX_RELU    (1u << 2)
#define PTX_LO      (1u << 3)
#define PTX_HI      (1u << 4)
#define PTX_WIDE    (1u << 5)
#define PTX_AND     (1u << 6)
#define PTX_OR      (1u << 7)
#define PTX_XOR     (1u << 8)
#define PTX_TO      (1u << 9) /* cvta.to */
#define PTX_TRANS   (1u << 10)
#define PTX_ALIGNED (1u << 11) /* all lanes of the warp must execute it together */
#define PTX_NAN     (1u << 12)
#define PTX_CC      (1u << 13)
#define PTX_ARRIVE  (1u << 14)
#define PTX_WRAP    (1u << 15)
#define PTX_PROXY   (1u << 16)
#define PTX_WARP    (1u << 17)
#define PTX_LEFT    (1u << 18) /* shf.l */
#define PTX_APPROX  (1u << 19)

typedef enum ptx_round { PTX_RN, PTX_RZ, PTX_RM, PTX_RP, PTX_RNA } ptx_round;

typedef struct ptx_instruction {
    uint16_t op;        /* ptx_op of operations.h */
    uint8_t round;      /* ptx_round */
    bool to_whole;      /* .rni and the like */
    uint8_t space;      /* ptx_space */
    uint8_t vector;     /* elements of a load or store; matrices of ldmatrix */
    uint8_t compare;    /* ptx_compare */
    uint8_t variant;    /* ptx_variant */
    uint8_t type_count; /* number of types */
    uint32_t flags;
    ptx_type types[4];
    int shape[3]; /* m, n and k of a matrix instruction */
    int guard;    /* register of the predicate, or -1 */
    bool guard_negated;
    uint8_t operand_count;
    ptx_operand operands[PTX_MAX_OPERANDS];
    int line;      /* in the source text */
    char text[72]; /* its opcode */
} ptx_instruction;

typedef struct ptx_variable {
    char *name;
    uint8_t space;
    uint32_t align;
    uint64_t offset, size; /* within its space */
    unsigned char *data;   /* initial value of a variable in global or constant memory */
} ptx_variable;

typedef struct ptx_function {
    char *name;
    bool is_kernel;
    int first, end; /* instructions */
    int params[20]; /* variables; for a function, in local memory */
    int result;     /* a variable, or -1 */
    int param_count;
    uint32_t param_bytes; /* for a kernel */
    uint32_t required[3]; /* .reqntid; 0 if absent */
} ptx_function;

typedef struct ptx_program {
    char *text;
    char target[16];
    ptx_instruction *instructions;
    int instruction_count;
    ptx_function *functions;
    int function_count;
    ptx_variable *variables;
    int variable_count;
    uint8_t *register_bits;
    int register_count;
    int *targets; /* lists for brx.idx, each preceded by its length */
    int target_count;
    uint64_t shared_bytes, local_bytes;
    bool has_wgmma;
} ptx_program;

/* Parses a module. Returns NULL with a message if it contains anything that the interpreter does
 * not support. `text` is copied. */
ptx_program *ptx_parse(const char *text, char message[256]);
void ptx_destroy(ptx_program *program);
const ptx_function *ptx_find(const ptx_program *program, const char *kernel);

#endif
