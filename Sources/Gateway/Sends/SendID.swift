internal import Cryptography
internal import Kafka
internal import LiveActivity
internal import Telemetry

/// A send's id. It says where the send lies, so that it is found again without an index; a random one also says
/// since when.
///
/// `r-<milliseconds since 1970>-<partition>-<24 hexadecimal digits>`, or, made from an idempotency key,
/// `k-<partition>-<32 hexadecimal digits>`: the same whenever and wherever the same request comes again. Of a send
/// for later, `t` in place of `r` and `d` in place of `k`, and behind the partition that of `timers`.
package struct SendID: Sendable, Hashable {
    package let text: String
    /// Of `sends`, or of `sends.timed`.
    let partition: Int
    /// Of `timers`, where the send is one for later.
    let timers: Int?
    /// Milliseconds since 1970 by the gateway's clock; nil of one that was made from a key.
    let time: Int64?

    private static let randomBytes = 12
    private static let digestBytes = 16

    private init(text: String, partition: Int, timers: Int?, time: Int64?) {
        self.text = text
        self.partition = partition
        self.timers = timers
        self.time = time
    }

    /// - Parameter timers: the partition of `timers`, of a send for later.
    static func random(partition: Int, timers: Int? = nil, now: WallTime) -> SendID {
        let time = max(0, now.milliseconds)
        let kind = timers == nil ? "r" : "t"
        return SendID(
            text: "\(kind)-\(time)-\(places(partition, timers))-\(Hex.text(Random.bytes(randomBytes)))",
            partition: partition, timers: timers, time: time)
    }

    static func derived(
        from idempotencyKey: String, route: String, group: GroupKey, partition: Int, timers: Int? = nil
    ) -> SendID {
        // No part can pretend to be two.
        let parts = RecordKey.join(
            group.app, route, String(decoding: group.bytes, as: UTF8.self), idempotencyKey)
        let digest = SHA256.digest(parts).prefix(digestBytes)
        let kind = timers == nil ? "k" : "d"
        return SendID(
            text: "\(kind)-\(places(partition, timers))-\(Hex.text(Array(digest)))", partition: partition,
            timers: timers, time: nil)
    }

    private static func places(_ partition: Int, _ timers: Int?) -> String {
        timers.map { "\(partition)-\($0)" } ?? "\(partition)"
    }

    /// Reads an id that somebody asks about; nil for what no gateway has made. What takes a send back may stand
    /// behind it.
    package init?(_ text: String, lanes: Int) {
        guard text.utf8.count <= Name.bytesMax else { return nil }
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
        let places = parts.dropLast().dropFirst(isRandom ? 2 : 1).map { partition($0) }
        guard let first = places[0], !isTimed || places[1] != nil else { return nil }
        self.init(text: text, partition: first, timers: isTimed ? places[1] : nil, time: time)
    }
}
