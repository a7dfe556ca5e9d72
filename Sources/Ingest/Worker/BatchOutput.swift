internal import JSON
internal import Kafka
internal import LiveActivity

/// What a batch changes, as records that are ready to be sent. A key that several reports changed is
/// written once, with its last value. Used again for every batch.
struct BatchOutput: ~Copyable {
    private struct Piece {
        var partition: Int32
        var key: Range<Int>
        /// Nil for a tombstone.
        var value: Range<Int>?
    }

    private let lanes: Int
    private var bytes: [UInt8] = []
    private var installations: [Piece] = []
    private var registry: [Piece] = []
    private var rowPlaces: [[UInt8]: Int] = [:]
    private var events: [Piece] = []
    private var writer = JSONWriter(capacity: 4096)

    init(lanes: Int) { self.lanes = lanes }

    var isEmpty: Bool { installations.isEmpty && registry.isEmpty && events.isEmpty }
    var counts: (installations: Int, registry: Int, events: Int) {
        (installations.count, registry.count, events.count)
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        installations.removeAll(keepingCapacity: true)
        registry.removeAll(keepingCapacity: true)
        rowPlaces.removeAll(keepingCapacity: true)
        events.removeAll(keepingCapacity: true)
    }

    /// Once per installation and batch.
    mutating func add(_ installation: Installation?, key: [UInt8], partition: Int32) {
        let keyRange = append(key)
        installation?.encode(to: &writer)
        let value = installation == nil ? nil : appendWritten()
        installations.append(Piece(partition: partition, key: keyRange, value: value))
    }

    mutating func add(_ row: RegistryRow?, at key: RegistryKey) {
        row?.encode(to: &writer)
        let value = row == nil ? nil : appendWritten()
        let keyBytes = key.bytes
        if let place = rowPlaces[keyBytes] {
            registry[place].value = value
            return
        }
        let lane = Murmur2.partition(
            of: RegistryKey.lane(app: key.app, recipient: key.recipient).span, of: lanes)
        rowPlaces[keyBytes] = registry.count
        registry.append(Piece(partition: Int32(lane), key: append(keyBytes), value: value))
    }

    mutating func add(_ event: Event, key: [UInt8], partition: Int32) {
        event.encode(to: &writer)
        let value = appendWritten()
        events.append(Piece(partition: partition, key: append(key), value: value))
    }

    private mutating func append(_ part: [UInt8]) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: part)
        return start..<bytes.count
    }

    private mutating func appendWritten() -> Range<Int> {
        let start = bytes.count
        unsafe writer.withBytes { written in unsafe bytes.append(contentsOf: written) }
        return start..<bytes.count
    }

    // MARK: Sending

    /// False when the producer did not take a record.
    borrowing func send(
        by producer: TransactionalProducer, installations: Topic, registry: Topic, events: Topic,
        onStep: (IngestStep) -> Void
    ) -> Bool {
        guard send(self.installations, to: installations, by: producer) else { return false }
        onStep(.installationsSent)
        guard send(self.registry, to: registry, by: producer) else { return false }
        onStep(.registrySent)
        guard send(self.events, to: events, by: producer) else { return false }
        onStep(.eventsSent)
        return true
    }

    /// How long a full queue may take to have room again.
    private static let roomMilliseconds = 5000

    private borrowing func send(
        _ pieces: [Piece], to topic: Topic, by producer: TransactionalProducer
    ) -> Bool {
        let all = bytes.span
        for piece in pieces {
            let key = all.extracting(piece.key)
            while true {
                let result =
                    if let value = piece.value {
                        producer.send(
                            to: topic, partition: piece.partition, key: key, value: all.extracting(value))
                    } else {
                        producer.send(to: topic, partition: piece.partition, key: key, value: nil)
                    }
                if result == .queued { break }
                guard result == .full, producer.waitForRoom(withinMilliseconds: Self.roomMilliseconds) else {
                    return false
                }
            }
        }
        return true
    }
}
