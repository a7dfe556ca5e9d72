internal import Store

/// The retry policy of a restore: it repeats a write that failed on a full disk. The records that were read
/// took seconds or minutes, and a new restore would find the same full disk.
struct DiskFullRetryPolicy {
    /// Waits, or throws to give up.
    let whenFull: (StoreError) throws(StoreError) -> Void

    /// Returns if the caller must repeat the write. Throws the error if a repetition cannot succeed.
    func waitToRetry(after error: StoreError) throws(StoreError) {
        guard error.isTransient else { throw error }
        try whenFull(error)
    }
}
