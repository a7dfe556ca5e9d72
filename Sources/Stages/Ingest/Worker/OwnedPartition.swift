internal import Lifecycle
internal import StageSupport

/// A partition of `reports` that this process owns.
struct OwnedPartition: PositionedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    var positions = ReadPositions()

    init(_ partition: Int32, at now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition)" }
}
