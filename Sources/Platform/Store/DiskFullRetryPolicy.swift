/// The retry policy of a restore: it repeats a write that failed on a full disk. The records that were read
/// took seconds or minutes, and a new restore would find the same full disk.
package struct DiskFullRetryPolicy {
    /// Waits, or throws to give up.
    private let whenFull: (StoreError) throws(StoreError) -> Void

    package init(whenFull: @escaping (StoreError) throws(StoreError) -> Void = DiskFullRetryPolicy.giveUp) {
        self.whenFull = whenFull
    }

    package static func giveUp(on error: StoreError) throws(StoreError) { throw error }

    /// Returns if the caller must repeat the write. Throws the error if a repetition cannot succeed.
    package func waitToRetry(after error: StoreError) throws(StoreError) {
        guard error.isTransient else { throw error }
        try whenFull(error)
    }
}
