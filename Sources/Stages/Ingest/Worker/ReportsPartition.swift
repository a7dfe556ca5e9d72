internal import Lifecycle
internal import StageSupport

/// A partition of `reports` that this process owns. Its installations are in the view and the overlay of the same
/// number.
struct ReportsPartition: PositionedPartition {
    let partition: Int32
    var state = PartitionState.restoring
    var restoringSince: Instant
    var positions = ReadPositions()

    init(partition: Int32, assignedAt now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition)" }
}
