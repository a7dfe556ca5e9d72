internal import Catalog
internal import HTTPServer
internal import JSON
internal import LiveActivity

/// A kind of object that the catalog holds for an app.
enum CatalogPart: String, Sendable, CaseIterable {
    case activityTypes = "activity-types"
    case segments
    case definitions

    static let segmentsPerAppMax = 1000

    var path: String { rawValue }

    private var code: String {
        switch self {
        case .activityTypes: "type_unknown"
        case .segments: "segment_unknown"
        case .definitions: "definition_unknown"
        }
    }

    private func unknown() -> RefusedRequest {
        RefusedRequest(
            [
                RequestProblem(
                    code, at: "name", "is unknown in this app; GET /v1/\(path) lists the known ones",
                    isUnknown: true)
            ],
            status: 404)
    }

    // MARK: Reading

    /// Lists the objects by name. Their contents are omitted, because together they could be megabytes.
    func list(_ context: RequestContext) -> RequestDecision {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.name("items")
        json.beginArray()
        switch self {
        case .activityTypes: Self.write(names: context.app.types.map(\.name), to: &json)
        case .segments:
            Self.write(names: context.catalog.segments(of: context.app.id).keys.sorted(), to: &json)
        case .definitions:
            let all = context.catalog.definitions(of: context.app.id).values
            for definition in all.sorted(by: { $0.number < $1.number }) {
                json.beginObject()
                Self.writeHead(definition, to: &json)
                json.endObject()
            }
        }
        json.endArray()
        json.endObject()
        return .answer(.json(json.bytes))
    }

    private static func write(names: [String], to json: inout JSONWriter) {
        for name in names {
            json.beginObject()
            json.field("name", name)
            json.endObject()
        }
    }

    func show(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name("name")
        var json = JSONWriter(capacity: 4096)
        switch self {
        case .activityTypes:
            guard let type = context.app.types.first(where: { $0.name.isExactly(name) }) else {
                throw unknown()
            }
            type.write(to: &json)
        case .segments:
            guard let segment = context.catalog.segment(name, of: context.app.id) else { throw unknown() }
            Self.write(segment, to: &json)
        case .definitions: Self.write(try definition(name, context), to: &json)
        }
        return .answer(.json(json.bytes))
    }

    private func definition(
        _ name: String, _ context: RequestContext
    ) throws(RefusedRequest) -> NotificationDefinition {
        guard let number = Int64(name),
            let definition = context.catalog.definition(number, of: context.app.id)
        else { throw unknown() }
        return definition
    }

    private static func write(_ segment: Segment, to json: inout JSONWriter) {
        json.beginObject()
        json.field("name", segment.name)
        json.name("rule")
        json.value(segment.rule)
        json.endObject()
    }

    private static func write(_ definition: NotificationDefinition, to json: inout JSONWriter) {
        json.beginObject()
        writeHead(definition, to: &json)
        json.field("liveActAttr", definition.content.attributes)
        json.field("contentState", definition.content.contentState)
        json.endObject()
    }

    private static func writeHead(_ definition: NotificationDefinition, to json: inout JSONWriter) {
        json.field("notificationKey", "\(definition.number)")
        json.field("createdAt", definition.createdAt)
        json.field("groupId", definition.group)
        json.field("liveActAttrType", definition.content.attributesType)
    }

    // MARK: Changing

    static func putType(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name("name")
        let object = try context.root().object()
        if let written = object["name"].optional, !written.string().isExactly(name), written.kind == .string {
            written.report("must be the name in the path, or be omitted")
        }
        let type = ActivityType(name: name, from: object)
        object.refuseUnknownFields()
        try context.throwProblems()
        let isNew = !context.app.types.contains { $0.name.isExactly(name) }
        if isNew, context.app.types.count >= ActivityType.perAppMax {
            throw tooMany("activity types", ActivityType.perAppMax)
        }
        var json = JSONWriter(capacity: 4096)
        type.write(to: &json)
        return .change(.put(ActivityTypeRecord(app: context.app.id, type: type)), .json(json.bytes))
    }

    static func putSegment(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name("name")
        let object = try context.root().object()
        let segment = Segment(app: context.app.id, name: name, rule: object["rule"].segmentRule())
        object.refuseUnknownFields()
        try context.throwProblems()
        let known = context.catalog.segments(of: context.app.id)
        if known[name] == nil, known.count >= segmentsPerAppMax {
            throw tooMany("segments", segmentsPerAppMax)
        }
        var json = JSONWriter(capacity: 1024)
        write(segment, to: &json)
        return .change(.put(segment), .json(json.bytes))
    }

    private static func tooMany(_ what: String, _ limit: Int) -> RefusedRequest {
        RefusedRequest(
            [RequestProblem("too_many", at: "", "the app has \(limit) \(what); delete one first")],
            status: 409)
    }

    func delete(_ context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name("name")
        let gone = HTTPResponse(status: 204)
        switch self {
        case .activityTypes:
            if context.catalog.types(of: context.app.id)[name] != nil {
                return .change(.deleteType(name, of: context.app.id), gone)
            }
            if context.app.types.contains(where: { $0.name.isExactly(name) }) {
                throw RefusedRequest(
                    [
                        RequestProblem(
                            "in_the_app", at: "name",
                            "is part of the app's document; remove it with `flotilla apps update`")
                    ], status: 409)
            }
            throw unknown()
        case .segments:
            guard let segment = context.catalog.segment(name, of: context.app.id) else { throw unknown() }
            return .change(.delete(segment), gone)
        case .definitions: return .change(.delete(try definition(name, context)), gone)
        }
    }
}
