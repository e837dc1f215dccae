/* The declarations of MPI 3.1 that tenon/mpi.h uses, for tests without an MPI. test_mpi.c defines
 * the functions. */
#ifndef FAKE_MPI_H
#define FAKE_MPI_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fake_comm *MPI_Comm;
typedef struct fake_request *MPI_Request;
typedef struct fake_errhandler *MPI_Errhandler;
typedef int MPI_Datatype;
typedef struct MPI_Status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, count;
} MPI_Status;

#define MPI_COMM_NULL         ((MPI_Comm)0)
#define MPI_REQUEST_NULL      ((MPI_Request)0)
#define MPI_ERRORS_RETURN     ((MPI_Errhandler)0)
#define MPI_STATUS_IGNORE     ((MPI_Status *)0)
#define MPI_BYTE              1
#define MPI_MAX_ERROR_STRING  256
#define MPI_THREAD_SINGLE     0
#define MPI_THREAD_FUNNELED   1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE   3

enum {
    MPI_SUCCESS,
    MPI_ERR_BUFFER,
    MPI_ERR_COUNT,
    MPI_ERR_TYPE,
    MPI_ERR_TAG,
    MPI_ERR_COMM,
    MPI_ERR_RANK,
    MPI_ERR_ARG,
    MPI_ERR_TRUNCATE,
    MPI_ERR_NO_MEM,
    MPI_ERR_OTHER
};

int MPI_Initialized(int *flag);
int MPI_Finalized(int *flag);
int MPI_Query_thread(int *provided);
int MPI_Error_class(int code, int *error_class);
int MPI_Error_string(int code, char *string, int *length);
int MPI_Comm_test_inter(MPI_Comm comm, int *flag);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm *copy);
int MPI_Comm_free(MPI_Comm *comm);
int MPI_Comm_size(MPI_Comm comm, int *size);
int MPI_Comm_rank(MPI_Comm comm, int *rank);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Isend(const void *bytes, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Irecv(void *bytes, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request);
int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status);
int MPI_Get_count(const MPI_Status *status, MPI_Datatype type, int *count);
int MPI_Cancel(MPI_Request *request);
int MPI_Request_free(MPI_Request *request);

#ifdef __cplusplus
}
#endif

#endif
