internal import Cryptography
internal import Kafka
internal import LiveActivity
internal import Telemetry

/// A send's id. It says where the send lies in `sends`, so that it is found again without an index; a random
/// one also says since when.
///
/// `r-<milliseconds since 1970>-<partition>-<24 hexadecimal digits>`, or, made from an idempotency key,
/// `k-<partition>-<32 hexadecimal digits>`: the same whenever and wherever the same request comes again.
package struct SendID: Sendable, Hashable {
    package let text: String
    /// Of `sends`.
    let partition: Int
    /// Milliseconds since 1970 by the gateway's clock; nil of one that was made from a key.
    let time: Int64?

    private static let randomBytes = 12
    private static let digestBytes = 16

    private init(text: String, partition: Int, time: Int64?) {
        self.text = text
        self.partition = partition
        self.time = time
    }

    static func random(partition: Int, now: WallTime) -> SendID {
        let time = max(0, now.milliseconds)
        return SendID(
            text: "r-\(time)-\(partition)-\(Hex.text(Random.bytes(randomBytes)))", partition: partition,
            time: time)
    }

    static func derived(
        from idempotencyKey: String, route: String, group: GroupKey, partition: Int
    ) -> SendID {
        // No part can pretend to be two.
        let parts = RecordKey.join(
            group.app, route, String(decoding: group.bytes, as: UTF8.self), idempotencyKey)
        let digest = SHA256.digest(parts).prefix(digestBytes)
        return SendID(text: "k-\(partition)-\(Hex.text(Array(digest)))", partition: partition, time: nil)
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
        switch (parts[0], parts.count) {
        case ("r", 4):
            guard let time = Int64(parts[1]), time >= 0, let place = partition(parts[2]),
                isHex(parts[3], bytes: Self.randomBytes)
            else { return nil }
            self.init(text: text, partition: place, time: time)
        case ("k", 3):
            guard let place = partition(parts[1]), isHex(parts[2], bytes: Self.digestBytes) else {
                return nil
            }
            self.init(text: text, partition: place, time: nil)
        default: return nil
        }
    }
}
