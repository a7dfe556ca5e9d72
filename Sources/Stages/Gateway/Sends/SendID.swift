internal import Cryptography
internal import Identifiers
internal import Kafka
internal import Sends
internal import Telemetry

/// The id of a send. It names the partition of the send, so that a lookup needs no index. A random id also
/// names the time of acceptance.
///
/// The parts of an id are separated by `-`: a letter, for a random id the time of acceptance in milliseconds
/// since 1970, the partition, for a send at a later time its partition of `timers`, and hexadecimal digits. A
/// derived id depends only on the request and its idempotency key, so a repeated request gets the same one.
///
/// | | random | derived |
/// |---|---|---|
/// | now | `r-1795809600000-7-` and 24 digits | `k-7-` and 32 digits |
/// | later | `t-1795809600000-7-3-` and 24 digits | `d-7-3-` and 32 digits |
package struct SendID: Sendable, Hashable {
    /// The first part of an id.
    private enum Kind: String {
        case random = "r"
        case derived = "k"
        case timedRandom = "t"
        case timedDerived = "d"

        var isTimed: Bool { self == .timedRandom || self == .timedDerived }
        var isRandom: Bool { self == .random || self == .timedRandom }
    }

    package let text: String
    /// The partition of `sends` or `sends.timed`.
    let partition: Int
    /// The partition of `timers` if the send is for later.
    let timersPartition: Int?
    /// The gateway's time of acceptance, in milliseconds since 1970. Nil if the id is derived from an
    /// idempotency key.
    let acceptedAt: Int64?

    /// The start of a search for the send, if nothing else is known about it.
    package var searchStart: SearchStart { acceptedAt.map { .accepted(at: $0) } ?? .backwardsFromEnd }

    private static let randomByteCount = 12
    private static let digestByteCount = 16

    private init(text: String, partition: Int, timersPartition: Int?, acceptedAt: Int64?) {
        self.text = text
        self.partition = partition
        self.timersPartition = timersPartition
        self.acceptedAt = acceptedAt
    }

    /// Makes the id of a request. Repetitions of a request with an idempotency key have the same id.
    ///
    /// - Parameters:
    ///   - route: The path of the call. The same idempotency key on another route makes another id.
    ///   - timersPartition: The partition of `timers` if the send is for later.
    init(
        idempotency: Idempotency?, route: String, scope: ScopeKey, partition: Int,
        timersPartition: Int? = nil, now: WallTime
    ) {
        self =
            if let idempotency {
                Self.derived(
                    from: idempotency.key, route: route, scope: scope, partition: partition,
                    timersPartition: timersPartition)
            } else { Self.makeRandom(partition: partition, timersPartition: timersPartition, now: now) }
    }

    private static func makeRandom(partition: Int, timersPartition: Int?, now: WallTime) -> SendID {
        let time = max(0, now.milliseconds)
        let kind = timersPartition == nil ? Kind.random : .timedRandom
        let partitions = partitionsText(partition, timers: timersPartition)
        let digits = Hex.text(of: Random.bytes(count: randomByteCount))
        return SendID(
            text: "\(kind.rawValue)-\(time)-\(partitions)-\(digits)", partition: partition,
            timersPartition: timersPartition, acceptedAt: time)
    }

    /// Makes the id that depends only on the request and its idempotency key.
    private static func derived(
        from idempotencyKey: String, route: String, scope: ScopeKey, partition: Int, timersPartition: Int?
    ) -> SendID {
        // The join escapes its separator, so two different lists of parts never produce the same bytes.
        let parts = RecordKey.join(
            scope.app, route, String(decoding: scope.bytes, as: UTF8.self), idempotencyKey)
        let digits = Hex.text(of: Array(SHA256.digest(of: parts).prefix(digestByteCount)))
        let kind = timersPartition == nil ? Kind.derived : .timedDerived
        let partitions = partitionsText(partition, timers: timersPartition)
        return SendID(
            text: "\(kind.rawValue)-\(partitions)-\(digits)", partition: partition,
            timersPartition: timersPartition, acceptedAt: nil)
    }

    /// Whether an id that a gateway has made names its time of acceptance.
    static func namesAcceptance(_ text: String) -> Bool {
        Kind(rawValue: String(text.prefix { $0 != "-" }))?.isRandom ?? false
    }

    private static func partitionsText(_ partition: Int, timers: Int?) -> String {
        timers.map { "\(partition)-\($0)" } ?? "\(partition)"
    }

    /// Parses the id in a request. Returns nil if a gateway cannot have made it. A suffix after a dot, such
    /// as `.undo`, is allowed.
    package init?(_ text: String, lanes: Int) {
        guard text.utf8.count <= NameRules.bytesMax else { return nil }
        let base = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)[0]
        let parts = base.split(separator: "-", omittingEmptySubsequences: false)
        guard let kind = Kind(rawValue: String(parts[0])) else { return nil }
        // The parts are the letter, perhaps the time, one or two partitions, and the digits.
        guard parts.count == 3 + (kind.isRandom ? 1 : 0) + (kind.isTimed ? 1 : 0) else { return nil }
        let digits = parts[parts.count - 1]
        let byteCount = kind.isRandom ? Self.randomByteCount : Self.digestByteCount
        guard Self.isHex(digits, byteCount: byteCount) else { return nil }
        var acceptedAt: Int64?
        if kind.isRandom {
            guard let time = Int64(parts[1]), time >= 0 else { return nil }
            acceptedAt = time
        }
        let partitionParts = parts.dropLast().dropFirst(kind.isRandom ? 2 : 1)
        let partitions = partitionParts.compactMap { Self.partition(in: $0, lanes: lanes) }
        guard partitions.count == partitionParts.count else { return nil }
        self.init(
            text: text, partition: partitions[0], timersPartition: kind.isTimed ? partitions[1] : nil,
            acceptedAt: acceptedAt)
    }

    /// Parses a partition. All topics of sends and timers have one partition for each lane.
    private static func partition(in part: Substring, lanes: Int) -> Int? {
        guard let number = Int(part), (0..<lanes).contains(number), "\(number)" == part else { return nil }
        return number
    }

    private static func isHex(_ part: Substring, byteCount: Int) -> Bool {
        part.utf8.count == 2 * byteCount && Hex.decode(part.utf8) != nil
    }
}
