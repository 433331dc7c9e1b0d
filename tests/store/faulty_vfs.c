/* SPDX-License-Identifier: MIT */
/* The real file system's functions, with a look at the wanted fault in front of
 * those that write. Each file carries the real one behind it. */
#include "faulty_vfs.h"
#include <stdbool.h>
#include <string.h>

static sqlite3_vfs *real;
static int wanted; /* atomic */

struct faulty_file {
	sqlite3_file base;
	sqlite3_file *real;
};

static sqlite3_file *real_of(sqlite3_file *f)
{
	return ((struct faulty_file *)f)->real;
}

static int fault(void)
{
	return __atomic_load_n(&wanted, __ATOMIC_SEQ_CST);
}

void faulty_vfs_set(enum fault what)
{
	__atomic_store_n(&wanted, (int)what, __ATOMIC_SEQ_CST);
}

static int f_close(sqlite3_file *f)
{
	return real_of(f)->pMethods->xClose(real_of(f));
}

static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return real_of(f)->pMethods->xRead(real_of(f), p, n, at);
}

static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (fault() == FAULT_FULL)
		return SQLITE_FULL;
	if (fault() == FAULT_WRITE)
		return SQLITE_IOERR_WRITE;
	return real_of(f)->pMethods->xWrite(real_of(f), p, n, at);
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 size)
{
	return real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int f_sync(sqlite3_file *f, int flags)
{
	if (fault() == FAULT_SYNC)
		return SQLITE_IOERR_FSYNC;
	return real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int f_size(sqlite3_file *f, sqlite3_int64 *ret)
{
	return real_of(f)->pMethods->xFileSize(real_of(f), ret);
}

static int f_lock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int f_unlock(sqlite3_file *f, int level)
{
	return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int f_reserved(sqlite3_file *f, int *ret)
{
	return real_of(f)->pMethods->xCheckReservedLock(real_of(f), ret);
}

static int f_control(sqlite3_file *f, int op, void *arg)
{
	return real_of(f)->pMethods->xFileControl(real_of(f), op, arg);
}

static int f_sector(sqlite3_file *f)
{
	return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int f_device(sqlite3_file *f)
{
	return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int f_shm_map(sqlite3_file *f, int region, int size, int extend, void volatile **ret)
{
	return real_of(f)->pMethods->xShmMap(real_of(f), region, size, extend, ret);
}

static int f_shm_lock(sqlite3_file *f, int at, int n, int flags)
{
	return real_of(f)->pMethods->xShmLock(real_of(f), at, n, flags);
}

static void f_shm_barrier(sqlite3_file *f)
{
	real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int f_shm_unmap(sqlite3_file *f, int del)
{
	return real_of(f)->pMethods->xShmUnmap(real_of(f), del);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = f_close,
	.xRead = f_read,
	.xWrite = f_write,
	.xTruncate = f_truncate,
	.xSync = f_sync,
	.xFileSize = f_size,
	.xLock = f_lock,
	.xUnlock = f_unlock,
	.xCheckReservedLock = f_reserved,
	.xFileControl = f_control,
	.xSectorSize = f_sector,
	.xDeviceCharacteristics = f_device,
	.xShmMap = f_shm_map,
	.xShmLock = f_shm_lock,
	.xShmBarrier = f_shm_barrier,
	.xShmUnmap = f_shm_unmap,
};

static int f_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *ret_flags)
{
	struct faulty_file *f = (struct faulty_file *)file;
	int rc;

	f->base.pMethods = NULL;
	f->real = (sqlite3_file *)(f + 1);
	rc = real->xOpen(real, name, f->real, flags, ret_flags);
	if (!rc)
		f->base.pMethods = &methods;
	return rc;
}

void faulty_vfs_install(void)
{
	static sqlite3_vfs mine;

	real = sqlite3_vfs_find(NULL);
	mine = *real;
	mine.zName = "faulty";
	mine.szOsFile = (int)sizeof(struct faulty_file) + real->szOsFile;
	mine.xOpen = f_open;
	sqlite3_vfs_register(&mine, 1);
}
