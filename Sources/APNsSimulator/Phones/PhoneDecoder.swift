internal import JSON
internal import LiveActivity

/// What the app on a phone makes of the bytes in a push, by its types' schemas. A send brings the same
/// bytes to every phone, so what was found once is remembered for a while.
struct PhoneDecoder {
    struct Attributes: Hashable {
        let decodes: Bool
        let group: String?
    }

    private struct Key: Hashable {
        let type: Int
        let bytes: RawJSON
    }

    /// Verdicts kept; beyond it all are forgotten and found anew.
    private static let keptMax = 512

    private var contents: [Key: Bool] = [:]
    private var attributes: [Key: Attributes] = [:]
    private var lastContent: (key: Key, decodes: Bool)?
    private var lastAttributes: (key: Key, attributes: Attributes)?

    /// - Parameter number: tells the types of all apps apart.
    mutating func decodes(_ content: RawJSON, as type: ActivityType, _ number: Int) -> Bool {
        guard let schema = type.contentStateSchema else { return content.isObject }
        let key = Key(type: number, bytes: content)
        if let lastContent, lastContent.key == key { return lastContent.decodes }
        let decodes = contents[key] ?? schema.findings(in: content, now: 0).decodes
        if contents.count >= Self.keptMax { contents.removeAll(keepingCapacity: true) }
        contents[key] = decodes
        lastContent = (key, decodes)
        return decodes
    }

    mutating func attributes(_ value: RawJSON, of type: ActivityType, _ number: Int) -> Attributes {
        let key = Key(type: number, bytes: value)
        if let lastAttributes, lastAttributes.key == key { return lastAttributes.attributes }
        let found = attributes[key] ?? Self.read(value, type)
        if attributes.count >= Self.keptMax { attributes.removeAll(keepingCapacity: true) }
        attributes[key] = found
        lastAttributes = (key, found)
        return found
    }

    private static func read(_ value: RawJSON, _ type: ActivityType) -> Attributes {
        let group = try? JSONReader().read(value.bytes) { value -> String? in
            guard value.kind == .object else { return nil }
            for (name, member) in value.object().members where name == type.groupAttribute {
                return member.kind == .string ? member.string() : nil
            }
            return nil
        }
        let decodes = type.attributesSchema.map { $0.findings(in: value, now: 0).decodes } ?? value.isObject
        return Attributes(decodes: decodes, group: group ?? nil)
    }
}
