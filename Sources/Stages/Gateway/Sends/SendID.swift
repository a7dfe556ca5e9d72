internal import Cryptography
internal import Kafka
internal import LiveActivity
internal import Telemetry

/// The id of a send. It names the partition of the send, so that a lookup needs no index. A random id also
/// names the time of acceptance.
///
/// A random id is `r-<milliseconds since 1970>-<partition>-<24 hexadecimal digits>`. An id that is derived
/// from an idempotency key is `k-<partition>-<32 hexadecimal digits>`, and a repeated request always gets the
/// same one. A send for later uses `t` instead of `r` and `d` instead of `k`, and adds its partition of
/// `timers` after the first partition.
package struct SendID: Sendable, Hashable {
    package let text: String
    /// The partition of `sends` or `sends.timed`.
    let partition: Int
    /// The partition of `timers` if the send is for later.
    let timersPartition: Int?
    /// The gateway's time of acceptance, in milliseconds since 1970. Nil if the id is derived from an
    /// idempotency key.
    let acceptedAt: Int64?

    private static let randomBytes = 12
    private static let digestBytes = 16

    private init(text: String, partition: Int, timersPartition: Int?, acceptedAt: Int64?) {
        self.text = text
        self.partition = partition
        self.timersPartition = timersPartition
        self.acceptedAt = acceptedAt
    }

    /// Makes the id of a request. Repetitions of a request with an idempotency key have the same id.
    ///
    /// - Parameter timersPartition: The partition of `timers` if the send is for later.
    init(
        idempotency: Idempotency?, route: String, group: ScopeKey, partition: Int,
        timersPartition: Int? = nil, now: WallTime
    ) {
        self =
            if let idempotency {
                Self.derived(
                    from: idempotency.key, route: route, group: group, partition: partition,
                    timersPartition: timersPartition)
            } else { Self.makeRandom(partition: partition, timersPartition: timersPartition, now: now) }
    }

    private static func makeRandom(partition: Int, timersPartition: Int?, now: WallTime) -> SendID {
        let time = max(0, now.milliseconds)
        let kind = timersPartition == nil ? "r" : "t"
        return SendID(
            text:
                "\(kind)-\(time)-\(partitionsText(partition, timers: timersPartition))-\(Hex.text(of: Random.bytes(count: randomBytes)))",
            partition: partition, timersPartition: timersPartition, acceptedAt: time)
    }

    private static func derived(
        from idempotencyKey: String, route: String, group: ScopeKey, partition: Int, timersPartition: Int?
    ) -> SendID {
        // The join escapes its separator, so two different lists of parts never produce the same bytes.
        let parts = RecordKey.join(
            group.app, route, String(decoding: group.bytes, as: UTF8.self), idempotencyKey)
        let digest = SHA256.digest(of: parts).prefix(digestBytes)
        let kind = timersPartition == nil ? "k" : "d"
        return SendID(
            text:
                "\(kind)-\(partitionsText(partition, timers: timersPartition))-\(Hex.text(of: Array(digest)))",
            partition: partition,
            timersPartition: timersPartition, acceptedAt: nil)
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
        func partition(_ part: Substring) -> Int? {
            guard let number = Int(part), (0..<lanes).contains(number), "\(number)" == part else {
                return nil
            }
            return number
        }
        func isHex(_ part: Substring, bytes: Int) -> Bool {
            part.utf8.count == 2 * bytes && Hex.decode(part.utf8) != nil
        }
        let isTimed = parts[0] == "t" || parts[0] == "d"
        let isRandom = parts[0] == "r" || parts[0] == "t"
        guard isTimed || isRandom || parts[0] == "k",
            parts.count == (isTimed ? 4 : 3) + (isRandom ? 1 : 0),
            isHex(parts[parts.count - 1], bytes: isRandom ? Self.randomBytes : Self.digestBytes)
        else { return nil }
        var time: Int64?
        if isRandom {
            guard let given = Int64(parts[1]), given >= 0 else { return nil }
            time = given
        }
        let partitions = parts.dropLast().dropFirst(isRandom ? 2 : 1).map { partition($0) }
        guard let first = partitions[0], !isTimed || partitions[1] != nil else { return nil }
        self.init(
            text: text, partition: first, timersPartition: isTimed ? partitions[1] : nil, acceptedAt: time)
    }
}
