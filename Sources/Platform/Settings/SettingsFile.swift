internal import FoundationEssentials

/// The reader of the settings file. It is JSON5, so that it can have comments. Objects may nest:
/// `{ kafka: { brokers: "a:9092" } }` and `{ "kafka.brokers": "a:9092" }` are equal.
enum SettingsFile {
    /// The maximum size in bytes. A larger file is probably not a settings file.
    static let bytesMax = 1 << 20

    /// The key of a setting, and its value as text.
    typealias Member = (key: String, text: String)

    /// Reads the file and returns its members in the order of their keys.
    static func read(at path: String) throws(SettingsError) -> [Member] {
        let data: Data
        do {
            data = try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw SettingsError(problems: ["cannot read the settings file \(path): \(reason(for: error))"])
        }
        guard data.count <= bytesMax else {
            throw SettingsError(problems: [
                "the settings file \(path) is larger than 1 MiB; is it the right file?"
            ])
        }
        let decoder = JSONDecoder()
        decoder.allowsJSON5 = true
        do {
            let root = try decoder.decode(JSON5Node.self, from: data)
            guard case .object(let members) = root else {
                throw SettingsError(problems: ["the settings file \(path) must hold one object: { … }"])
            }
            return flatten(members, under: "")
        } catch let error as SettingsError {
            throw error
        } catch {
            throw SettingsError(problems: ["the settings file \(path) is not JSON5: \(reason(for: error))"])
        }
    }

    /// Returns the members in the order of their keys. Nested objects become keys with dots.
    private static func flatten(_ members: [String: JSON5Node], under prefix: String) -> [Member] {
        members.sorted { $0.key < $1.key }.flatMap { name, node -> [Member] in
            let key = prefix.isEmpty ? name : "\(prefix).\(name)"
            if case .object(let nested) = node { return flatten(nested, under: key) }
            return [(key, node.text)]
        }
    }

    private static func reason(for error: any Error) -> String {
        if case DecodingError.dataCorrupted(let context) = error {
            let underlying = context.underlyingError as? CocoaError
            return unsafe underlying?.userInfo["NSDebugDescription"] as? String ?? context.debugDescription
        }
        switch (error as? CocoaError)?.code {
        case .fileReadNoSuchFile: return "there is no such file"
        case .fileReadNoPermission: return "permission denied"
        default: return "\(error)"
        }
    }
}

/// A JSON5 value, with scalars as their text.
private enum JSON5Node: Decodable {
    case object([String: JSON5Node])
    case list([JSON5Node])
    case scalar(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let members = try? container.decode([String: JSON5Node].self) {
            self = .object(members)
        } else if let elements = try? container.decode([JSON5Node].self) {
            self = .list(elements)
        } else if let text = try? container.decode(String.self) {
            self = .scalar(text)
        } else if let flag = try? container.decode(Bool.self) {
            self = .scalar(flag ? "true" : "false")
        } else if let number = try? container.decode(Int.self) {
            self = .scalar(String(number))
        } else if let number = try? container.decode(Double.self) {
            self = .scalar("\(number)")
        } else {
            // A null. Empty text unsets an optional setting.
            self = .scalar("")
        }
    }

    /// The text of a value, as a flag would have it. Objects have none: `flatten` resolves them.
    var text: String {
        switch self {
        case .object: ""
        case .list(let elements): elements.map(\.text).joined(separator: ",")
        case .scalar(let text): text
        }
    }
}
