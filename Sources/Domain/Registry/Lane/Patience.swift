internal import Store

/// The retry policy of a restore on a full disk: it waits. The sorted records took seconds or minutes to
/// read, and a new restore would find the same full disk.
struct Patience {
    /// Waits, or throws to give up.
    let whenFull: (StoreError) throws(StoreError) -> Void

    /// Returns if the failed write is worth another try.
    func bear(_ error: StoreError) throws(StoreError) {
        guard error.passes else { throw error }
        try whenFull(error)
    }
}
