internal import Lifecycle
internal import StageSupport

/// A partition of `reports` that this process owns.
struct OwnedPartition: OwnedPart {
    let partition: Int32
    var condition = PartCondition.restoring
    var restoringSince: Instant
    /// The committed position.
    var position = ReadPosition()

    init(_ partition: Int32, at now: Instant) {
        self.partition = partition
        restoringSince = now
    }

    var name: String { "partition \(partition)" }

    func next(in topic: Int) -> Int64? { position.committed }
    mutating func reached(_ offset: Int64, in topic: Int) { position.reached(offset) }
    mutating func begin(at offset: Int64?, in topic: Int) { position.begin(at: offset) }
}
