internal import Store

/// What a restore does when the disk is full: it stays where it is. What it has read and sorted is worth
/// seconds or minutes, and a disk that has no room now would have none for a second beginning either.
struct Patience {
    /// Waits, or throws to give up.
    let whenFull: (StoreError) throws(StoreError) -> Void

    /// Returns when what has failed is worth another try.
    func bear(_ error: StoreError) throws(StoreError) {
        guard error.passes else { throw error }
        try whenFull(error)
    }
}
