internal import Lifecycle
internal import RecordFormat
internal import Store

/// The position of the sweep, which visits all installations of this process repeatedly, page by page. A pass visits
/// the partitions in ascending order.
struct SweepPosition {
    /// The most installations in one page. One page is swept per second.
    static let rowsMax = 2000

    /// The partition that is swept. Nil between two passes.
    private(set) var partition: Int32?
    /// The keys of the partition that this pass has not visited yet.
    var range = KeyRange.everything
    /// The users whose erasure this pass has found in the partition. Their rows sort before all installations.
    var erasures = ErasedUsers()
    /// The rows of the partition that this pass could not read, and the problem of the last one.
    private(set) var unreadableRows: (count: Int, error: RecordDecodingError)?
    /// The time at which the next pass may begin.
    var nextPass: Instant

    init(nextPass: Instant) { self.nextPass = nextPass }

    /// Moves to the beginning of a partition. Nil ends the pass.
    mutating func move(to partition: Int32?) {
        self.partition = partition
        (range, erasures, unreadableRows) = (.everything, ErasedUsers(), nil)
    }

    mutating func countUnreadableRow(_ error: RecordDecodingError) {
        unreadableRows = ((unreadableRows?.count ?? 0) + 1, error)
    }
}
