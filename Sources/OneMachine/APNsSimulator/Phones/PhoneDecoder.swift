internal import CatalogRecords
internal import ContentSchemas
internal import JSON

/// The decoder of content states and attributes: it checks them with the schemas of the app's activity types, as
/// the app itself decodes them. A send has the same bytes for every phone, so results are cached.
struct PhoneDecoder {
    /// The first problem that makes decoding fail.
    struct DecodingProblem: Hashable {
        /// Path from the value's root, empty for the value itself.
        let path: String
        let message: String
    }

    /// The result of decoding attributes.
    private struct Attributes {
        /// Number of the problem, or nil if the attributes decode.
        let problem: Int32?
        let group: String?
    }

    /// A value and the type with which it is decoded.
    private struct Key: Hashable {
        /// Number of the type, unique across all apps.
        let type: Int
        let bytes: RawJSON
    }

    /// Limit on the results in each cache. At the limit the cache is emptied.
    private static let cachedMax = 512
    /// Limit on distinct problems. Further problems are kept without their text.
    private static let problemsMax = 10_000

    // The caches of results.
    /// The number of the problem of each content state, or nil if it decodes.
    private var contents: [Key: Int32?] = [:]
    private var attributes: [Key: Attributes] = [:]
    // The newest results, because the next push usually has the same bytes.
    private var lastContent: (key: Key, problem: Int32?)?
    private var lastAttributes: (key: Key, attributes: Attributes)?
    /// Distinct problems by number.
    private var problems: [DecodingProblem] = []
    private var problemNumbers: [DecodingProblem: Int32] = [:]
    /// Number of the problem of the last value that did not decode. -1 for none, or if its text was not kept.
    private(set) var newestProblem: Int32 = -1

    /// Returns a problem, or nil for -1.
    func problem(numbered number: Int32) -> DecodingProblem? { number < 0 ? nil : problems[Int(number)] }

    // MARK: Decoding

    /// Whether the app can decode the content state. If not, `newestProblem` is the problem.
    /// - Parameter number: number of the type, unique across all apps.
    mutating func decodes(_ content: RawJSON, as type: ActivityType, typeNumber number: Int) -> Bool {
        let key = Key(type: number, bytes: content)
        if let lastContent, lastContent.key == key { return recordResult(problem: lastContent.problem) }
        let problem = contents[key] ?? problem(in: content, schema: type.contentStateSchema)
        if contents.count >= Self.cachedMax { contents.removeAll(keepingCapacity: true) }
        contents.updateValue(problem, forKey: key)
        lastContent = (key, problem)
        return recordResult(problem: problem)
    }

    /// Whether the app can decode the attributes. If not, `newestProblem` is the problem.
    mutating func decodesAttributes(_ value: RawJSON, of type: ActivityType, typeNumber number: Int) -> Bool {
        recordResult(problem: readAttributes(value, of: type, typeNumber: number).problem)
    }

    /// Returns the group that the attributes name, or nil if they name none.
    mutating func group(in value: RawJSON, of type: ActivityType, typeNumber number: Int) -> String? {
        readAttributes(value, of: type, typeNumber: number).group
    }

    private mutating func readAttributes(_ value: RawJSON, of type: ActivityType, typeNumber number: Int)
        -> Attributes
    {
        let key = Key(type: number, bytes: value)
        if let lastAttributes, lastAttributes.key == key { return lastAttributes.attributes }
        let decoded =
            attributes[key]
            ?? Attributes(
                problem: problem(in: value, schema: type.attributesSchema),
                group: Self.group(in: value, of: type))
        if attributes.count >= Self.cachedMax { attributes.removeAll(keepingCapacity: true) }
        attributes[key] = decoded
        lastAttributes = (key, decoded)
        return decoded
    }

    /// Returns the text of the attribute that the type uses as its group.
    private static func group(in value: RawJSON, of type: ActivityType) -> String? {
        let group = try? JSONReader().read(value.bytes) { value -> String? in
            guard value.kind == .object else { return nil }
            for (name, member) in value.object().members where name == type.groupAttribute {
                return member.kind == .string ? member.string() : nil
            }
            return nil
        }
        return group ?? nil
    }

    // MARK: Problems

    /// Stores the problem as the newest. Returns whether the value decodes.
    private mutating func recordResult(problem: Int32?) -> Bool {
        if let problem { newestProblem = problem }
        return problem == nil
    }

    /// Returns the number of the value's first problem, or nil if it decodes. Without a schema any object
    /// decodes.
    private mutating func problem(in value: RawJSON, schema: ContentSchema?) -> Int32? {
        guard let schema else {
            return value.isObject ? nil : number(of: DecodingProblem(path: "", message: "must be an object"))
        }
        return schema.findings(in: value, now: 0).failures.first.map {
            number(of: DecodingProblem(path: $0.path, message: $0.message))
        }
    }

    /// Returns the number of a problem. Returns -1 at the limit, and the problem is not stored.
    private mutating func number(of problem: DecodingProblem) -> Int32 {
        if let number = problemNumbers[problem] { return number }
        guard problems.count < Self.problemsMax else { return -1 }
        problemNumbers[problem] = Int32(problems.count)
        problems.append(problem)
        return Int32(problems.count - 1)
    }
}
