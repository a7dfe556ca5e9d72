internal import Cryptography
internal import Identifiers

/// The broadcast channels of all apps. Like Apple's channels, they belong to one environment, have a random
/// id and a policy that never changes. Unlike Apple's channels, they end with the process.
final class Channels {
    /// The messages that a channel stores for phones that begin to listen later. The raw value is the number in
    /// the API (`message-storage-policy`).
    enum StoragePolicy: Int {
        case storesNothing = 0
        case storesNewest = 1
    }

    /// The owner of channels: an app in one environment.
    struct App: Hashable {
        let environment: Environment
        let bundleID: String
    }

    private struct Channel {
        let policy: StoragePolicy
        /// Number in the order of creation.
        let number: Int
    }

    /// Length of an id before it is encoded in base64.
    private static let idByteCount = 16
    /// Limit on the text of an id in a request.
    private static let idTextBytesMax = 256

    /// Channels that an app may have in one environment. At the limit, the answer is
    /// CannotCreateChannelConfig.
    let channelsPerAppMax: Int
    private var channels: [App: [String: Channel]] = [:]
    private var createdCount = 0

    init(channelsPerAppMax: Int) { self.channelsPerAppMax = channelsPerAppMax }

    /// Creates a channel and returns its base64 id, or nil at the limit.
    func create(_ policy: StoragePolicy, of app: App) -> String? {
        guard channels[app, default: [:]].count < channelsPerAppMax else { return nil }
        let id = Base64URL.standardText(of: Random.bytes(count: Self.idByteCount))
        createdCount += 1
        channels[app, default: [:]][id] = Channel(policy: policy, number: createdCount)
        return id
    }

    /// Returns the policy of a channel, or nil if it does not exist.
    func policy(of id: String, app: App) -> StoragePolicy? { channels[app]?[id]?.policy }

    /// Deletes a channel. Returns false if it does not exist.
    func delete(_ id: String, of app: App) -> Bool {
        channels[app]?.removeValue(forKey: id) != nil
    }

    /// Returns the ids in the order of creation.
    func ids(of app: App) -> [String] {
        (channels[app] ?? [:]).sorted { $0.value.number < $1.value.number }.map(\.key)
    }

    /// Whether the text is base64. Any length is valid, because Apple documents none.
    static func isID(_ text: String) -> Bool {
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        let paddingCount = text.utf8.count - digits.count
        let isLengthValid = text.utf8.count <= idTextBytesMax && text.utf8.count.isMultiple(of: 4)
        guard !digits.isEmpty, isLengthValid, paddingCount <= 2 else { return false }
        return text.utf8.suffix(paddingCount).allSatisfy { $0 == UInt8(ascii: "=") }
            && digits.allSatisfy(isBase64Digit)
    }

    private static func isBase64Digit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
