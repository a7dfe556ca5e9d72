internal import JSON
internal import LiveActivity

/// Decodes the values in a push with the schemas of the app's types. A send has the same bytes for every
/// phone, so results are cached.
struct PhoneDecoder {
    /// The first problem that makes decoding fail.
    struct DecodingProblem: Hashable {
        /// Path from the value's root, empty for the value itself.
        let path: String
        let message: String
    }

    private struct Attributes {
        let problem: Int32?
        let group: String?
    }

    private struct Key: Hashable {
        let type: Int
        let bytes: RawJSON
    }

    /// Limit on cached results. At the limit the cache is emptied.
    private static let cachedMax = 512
    /// Limit on distinct problems. Further problems are kept without their text.
    private static let problemsMax = 10_000

    /// Number of the problem, or nil if the value decodes.
    private var contents: [Key: Int32?] = [:]
    private var attributes: [Key: Attributes] = [:]
    private var lastContent: (key: Key, problem: Int32?)?
    private var lastAttributes: (key: Key, attributes: Attributes)?
    private var problems: [DecodingProblem] = []
    private var problemNumbers: [DecodingProblem: Int32] = [:]
    /// Number of the problem of the last value that did not decode, -1 for none.
    private(set) var newestProblem: Int32 = -1

    func problem(numbered number: Int32) -> DecodingProblem? { number < 0 ? nil : problems[Int(number)] }

    /// - Parameter number: number of the type, unique across all apps.
    mutating func decodes(_ content: RawJSON, as type: ActivityType, typeNumber number: Int) -> Bool {
        let key = Key(type: number, bytes: content)
        if let lastContent, lastContent.key == key { return recordResult(problem: lastContent.problem) }
        let problem = contents[key] ?? problem(in: content, schema: type.contentStateSchema)
        if contents.count >= Self.cachedMax { contents.removeAll(keepingCapacity: true) }
        contents[key] = .some(problem)
        lastContent = (key, problem)
        return recordResult(problem: problem)
    }

    mutating func decodesAttributes(_ value: RawJSON, of type: ActivityType, typeNumber number: Int) -> Bool {
        recordResult(problem: readAttributes(value, of: type, typeNumber: number).problem)
    }

    mutating func group(in value: RawJSON, of type: ActivityType, typeNumber number: Int) -> String? {
        readAttributes(value, of: type, typeNumber: number).group
    }

    private mutating func readAttributes(_ value: RawJSON, of type: ActivityType, typeNumber number: Int)
        -> Attributes
    {
        let key = Key(type: number, bytes: value)
        if let lastAttributes, lastAttributes.key == key { return lastAttributes.attributes }
        let found =
            attributes[key]
            ?? Attributes(
                problem: problem(in: value, schema: type.attributesSchema),
                group: Self.group(in: value, of: type))
        if attributes.count >= Self.cachedMax { attributes.removeAll(keepingCapacity: true) }
        attributes[key] = found
        lastAttributes = (key, found)
        return found
    }

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

    private mutating func recordResult(problem: Int32?) -> Bool {
        if let problem { newestProblem = problem }
        return problem == nil
    }

    private mutating func problem(in value: RawJSON, schema: ContentSchema?) -> Int32? {
        guard let schema else {
            return value.isObject ? nil : number(of: DecodingProblem(path: "", message: "must be an object"))
        }
        return schema.findings(in: value, now: 0).failures.first.map {
            number(of: DecodingProblem(path: $0.path, message: $0.message))
        }
    }

    private mutating func number(of problem: DecodingProblem) -> Int32 {
        if let number = problemNumbers[problem] { return number }
        guard problems.count < Self.problemsMax else { return -1 }
        problemNumbers[problem] = Int32(problems.count)
        problems.append(problem)
        return Int32(problems.count - 1)
    }
}
