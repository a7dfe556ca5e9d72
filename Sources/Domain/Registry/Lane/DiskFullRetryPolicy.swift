internal import Store

/// The retry policy of a restore on a full disk: it waits. The sorted records took seconds or minutes to
/// read, and a new restore would find the same full disk.
struct DiskFullRetryPolicy {
    /// Waits, or throws to give up.
    let whenFull: (StoreError) throws(StoreError) -> Void

    /// Returns if the failed write is worth another try.
    func waitToRetry(after error: StoreError) throws(StoreError) {
        guard error.isTransient else { throw error }
        try whenFull(error)
    }
}
