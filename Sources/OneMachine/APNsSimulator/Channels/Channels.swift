internal import Cryptography
internal import LiveActivity

/// The broadcast channels of all apps. Like Apple's channels, they belong to one environment, have a random
/// id and a policy that never changes. Unlike Apple's channels, they end with the process.
final class Channels {
    enum StoragePolicy: Int {
        case storesNothing = 0
        case storesNewest = 1
    }

    struct App: Hashable {
        let environment: Environment
        let bundleID: String
    }

    private struct Channel {
        let policy: StoragePolicy
        let number: Int
    }

    /// Channels that an app may have in one environment. At the limit, the answer is
    /// CannotCreateChannelConfig.
    let perAppMax: Int
    private var channels: [App: [String: Channel]] = [:]
    private var made = 0

    init(perAppMax: Int) { self.perAppMax = perAppMax }

    /// Creates a channel and returns its base64 id, or nil at the limit.
    func create(_ policy: StoragePolicy, of app: App) -> String? {
        guard channels[app, default: [:]].count < perAppMax else { return nil }
        let id = Self.base64(encoding: Random.bytes(count: 16))
        made += 1
        channels[app, default: [:]][id] = Channel(policy: policy, number: made)
        return id
    }

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
        let padding = text.utf8.count - digits.count
        return !digits.isEmpty && text.utf8.count <= 256 && text.utf8.count.isMultiple(of: 4) && padding <= 2
            && text.utf8.suffix(padding).allSatisfy { $0 == UInt8(ascii: "=") }
            && digits.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2F: true
                default: false
                }
            }
    }

    private static func base64(encoding bytes: [UInt8]) -> String {
        let digits = Base64URL.encode(bytes).map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 }
        return String(digits) + String(repeating: "=", count: (4 - digits.count % 4) % 4)
    }
}
