/// The comparison of an OpenAPI document with an earlier one. It finds the changes that break a client of the earlier
/// document. It reads the parts of OpenAPI that Flotilla's document uses, and follows references.
struct OpenAPIComparison {
    typealias Object = [String: Any]

    /// The direction of a body. A client sends requests and reads answers, so the same change may break one of them only.
    private enum Direction {
        case request
        case answer
    }

    /// The deepest nesting that is compared.
    private static let depthMax = 12

    private let old: Object
    private let new: Object
    /// A sentence for each change that breaks a client.
    private(set) var breakingChanges: [String] = []

    init(from old: Object, to new: Object) {
        (self.old, self.new) = (old, new)
        comparePaths()
    }

    private mutating func add(_ change: String) {
        if !breakingChanges.contains(change) { breakingChanges.append(change) }
    }

    private mutating func comparePaths() {
        let (oldPaths, newPaths) = (old["paths"] as? Object ?? [:], new["paths"] as? Object ?? [:])
        for (path, oldCalls) in oldPaths.sorted(by: { $0.key < $1.key }) {
            for (method, oldCall) in (oldCalls as? Object ?? [:]).sorted(by: { $0.key < $1.key }) {
                let name = "\(method.uppercased()) \(path)"
                guard let newCall = (newPaths[path] as? Object)?[method] as? Object else {
                    add("\(name) is missing")
                    continue
                }
                compareCall(name, from: oldCall as? Object ?? [:], to: newCall)
            }
        }
    }

    private mutating func compareCall(_ name: String, from oldCall: Object, to newCall: Object) {
        compareParameters(of: name, from: oldCall, to: newCall)
        let (oldBody, newBody) = (
            Self.schema(inContentOf: oldCall["requestBody"]), Self.schema(inContentOf: newCall["requestBody"])
        )
        if let newBody {
            compare("the body of \(name)", from: oldBody ?? [:], to: newBody, direction: .request, depth: 0)
        }
        let oldAnswers = oldCall["responses"] as? Object ?? [:]
        let newAnswers = newCall["responses"] as? Object ?? [:]
        for (status, oldAnswer) in oldAnswers.sorted(by: { $0.key < $1.key }) where status.hasPrefix("2") {
            guard let newAnswer = newAnswers[status] else {
                add("the answer \(status) of \(name) is missing")
                continue
            }
            guard let oldSchema = Self.schema(inContentOf: oldAnswer) else { continue }
            compare(
                "the answer \(status) of \(name)", from: oldSchema,
                to: Self.schema(inContentOf: newAnswer) ?? [:], direction: .answer, depth: 0)
        }
    }

    private mutating func compareParameters(of name: String, from oldCall: Object, to newCall: Object) {
        func parameters(of call: Object, in document: Object) -> [String: Object] {
            let list = (call["parameters"] as? [Object] ?? []).map { Self.resolve($0, in: document) }
            return Dictionary(list.map { ("\($0["in"] ?? "") \($0["name"] ?? "")", $0) }) { first, _ in first
            }
        }
        let (before, after) = (parameters(of: oldCall, in: old), parameters(of: newCall, in: new))
        for key in before.keys.sorted() where after[key] == nil {
            add("the parameter \(key) of \(name) is missing")
        }
        for (key, parameter) in after.sorted(by: { $0.key < $1.key })
        where parameter["required"] as? Bool == true && before[key]?["required"] as? Bool != true {
            add("the parameter \(key) of \(name) is required now")
        }
    }

    /// Compares two schemas.
    ///
    /// - Parameter depth: The nesting, which ends the comparison of a schema that contains itself.
    private mutating func compare(
        _ place: String, from oldSchema: Object, to newSchema: Object, direction: Direction, depth: Int
    ) {
        guard depth < Self.depthMax else { return }
        let (before, after) = (Self.resolve(oldSchema, in: old), Self.resolve(newSchema, in: new))
        if let oldType = before["type"] as? String, let newType = after["type"] as? String, oldType != newType
        {
            add("\(place) was \(oldType) and is \(newType)")
        }
        compareValues(place, from: before, to: after, direction: direction)
        let (oldMembers, newMembers) = (
            before["properties"] as? Object ?? [:], after["properties"] as? Object ?? [:]
        )
        for (name, member) in oldMembers.sorted(by: { $0.key < $1.key }) {
            guard let newMember = newMembers[name] as? Object else {
                add("\(name) in \(place) is missing")
                continue
            }
            compare(
                "\(name) in \(place)", from: member as? Object ?? [:], to: newMember, direction: direction,
                depth: depth + 1)
        }
        let (oldRequired, newRequired) = (
            Set(before["required"] as? [String] ?? []), Set(after["required"] as? [String] ?? [])
        )
        switch direction {
        case .request:
            for name in newRequired.subtracting(oldRequired).sorted() {
                add("\(name) in \(place) is required now")
            }
        case .answer:
            for name in oldRequired.subtracting(newRequired).sorted() {
                add("\(name) in \(place) may be missing now")
            }
        }
        if let oldItems = before["items"] as? Object, let newItems = after["items"] as? Object {
            compare(
                "an element of \(place)", from: oldItems, to: newItems, direction: direction, depth: depth + 1
            )
        }
    }

    /// A client may send each value that was allowed. It may not know a value that is new in an answer, but the document
    /// asks clients to expect such values.
    private mutating func compareValues(
        _ place: String, from before: Object, to after: Object, direction: Direction
    ) {
        guard direction == .request, let allowed = after["enum"] as? [AnyHashable] else { return }
        guard let allowedBefore = before["enum"] as? [AnyHashable] else {
            return add("\(place) allows only some values now")
        }
        for value in allowedBefore where !allowed.contains(value) {
            add("\(place) does not allow \(value) any more")
        }
    }

    /// Returns the schema of the JSON in a request body or an answer.
    private static func schema(inContentOf part: Any?) -> Object? {
        let content = (part as? Object)?["content"] as? Object
        return (content?["application/json"] as? Object)?["schema"] as? Object
    }

    /// Returns the object that a reference names. Members beside the reference stay.
    private static func resolve(_ object: Object, in document: Object) -> Object {
        guard let reference = object["$ref"] as? String else { return object }
        var target: Any? = document
        for part in reference.split(separator: "/").dropFirst() {
            target = (target as? Object)?[String(part)]
        }
        return (target as? Object ?? [:]).merging(object) { _, own in own }
    }
}
