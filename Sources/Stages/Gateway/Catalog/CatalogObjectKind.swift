internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Payloads

/// A kind of object that the catalog holds for an app, and the decisions of the calls about it.
enum CatalogObjectKind: String, Sendable, CaseIterable {
    case activityTypes = "activity-types"
    case segments
    case definitions

    static let segmentsPerAppMax = 1000

    /// The part of the path behind `/v1/`.
    var path: String { rawValue }

    private var unknownCode: String {
        switch self {
        case .activityTypes: "type_unknown"
        case .segments: "segment_unknown"
        case .definitions: "definition_unknown"
        }
    }

    private func unknownObject() -> RefusedRequest {
        RefusedRequest(
            [
                RequestProblem(
                    code: unknownCode, at: "name",
                    message: "is unknown in this app; GET /v1/\(path) lists the known ones",
                    isUnknown: true)
            ],
            status: 404)
    }

    // MARK: Reading

    /// Lists the objects by name. Their contents are omitted, because together they could be megabytes.
    func list(in context: RequestContext) -> RequestDecision {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.name("items")
        json.beginArray()
        switch self {
        case .activityTypes: Self.write(names: context.app.activityTypes.map(\.name), to: &json)
        case .segments:
            Self.write(names: context.catalog.segments(of: context.app.id).keys.sorted(), to: &json)
        case .definitions:
            let definitions = context.catalog.definitions(of: context.app.id).values
            for definition in definitions.sorted(by: { $0.number < $1.number }) {
                json.beginObject()
                Self.writeSummary(of: definition, to: &json)
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

    func show(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        var json = JSONWriter(capacity: 4096)
        switch self {
        case .activityTypes:
            guard let type = context.app.activityTypes.first(where: { $0.name.isExactlyEqual(to: name) })
            else {
                throw unknownObject()
            }
            type.write(to: &json)
        case .segments:
            guard let segment = context.catalog.segment(named: name, of: context.app.id) else {
                throw unknownObject()
            }
            Self.write(segment, to: &json)
        case .definitions: Self.write(try definition(named: name, in: context), to: &json)
        }
        return .answer(.json(json.bytes))
    }

    private func definition(
        named name: String, in context: RequestContext
    ) throws(RefusedRequest) -> NotificationDefinition {
        guard let number = Int64(name),
            let definition = context.catalog.definition(number: number, of: context.app.id)
        else { throw unknownObject() }
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
        writeSummary(of: definition, to: &json)
        json.field("liveActAttr", definition.content.attributes)
        json.field("contentState", definition.content.contentState)
        json.endObject()
    }

    private static func writeSummary(of definition: NotificationDefinition, to json: inout JSONWriter) {
        json.field("notificationKey", "\(definition.number)")
        json.field("createdAt", definition.createdAt)
        json.field("groupId", definition.group)
        json.field("liveActAttrType", definition.content.attributesType)
    }

    // MARK: Changing

    static func putType(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        let object = try context.bodyRoot().object()
        if let writtenName = object["name"].optional, !writtenName.string().isExactlyEqual(to: name),
            writtenName.kind == .string
        {
            writtenName.report("must be the name in the path, or be omitted")
        }
        let type = ActivityType(name: name, from: object)
        ActivityType.reportUnknownFields(in: object)
        try context.throwProblems()
        let isNew = !context.app.activityTypes.contains { $0.name.isExactlyEqual(to: name) }
        if isNew, context.app.activityTypes.count >= ActivityType.countPerAppMax {
            throw tooMany("activity types", limit: ActivityType.countPerAppMax)
        }
        var json = JSONWriter(capacity: 4096)
        type.write(to: &json)
        return .changeCatalog(.put(ActivityTypeRecord(app: context.app.id, type: type)), .json(json.bytes))
    }

    static func putSegment(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        let object = try context.bodyRoot().object()
        let segment = Segment(app: context.app.id, name: name, rule: object["rule"].segmentRule())
        object.reportUnknownFields()
        try context.throwProblems()
        let segments = context.catalog.segments(of: context.app.id)
        if segments[name] == nil, segments.count >= segmentsPerAppMax {
            throw tooMany("segments", limit: segmentsPerAppMax)
        }
        var json = JSONWriter(capacity: 1024)
        write(segment, to: &json)
        return .changeCatalog(.put(segment), .json(json.bytes))
    }

    private static func tooMany(_ objects: String, limit: Int) -> RefusedRequest {
        RefusedRequest(
            [
                RequestProblem(
                    code: "too_many", at: "", message: "the app has \(limit) \(objects); delete one first")
            ],
            status: 409)
    }

    func delete(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        let deleted = HTTPResponse(status: 204)
        switch self {
        case .activityTypes:
            if context.catalog.types(of: context.app.id)[name] != nil {
                return .changeCatalog(.deleteType(name, of: context.app.id), deleted)
            }
            // `activityTypes` also has the types that are written in the app's document.
            if context.app.activityTypes.contains(where: { $0.name.isExactlyEqual(to: name) }) {
                throw RefusedRequest(
                    [
                        RequestProblem(
                            code: "in_the_app", at: "name",
                            message: "is part of the app's document; remove it with `flotilla apps update`")
                    ], status: 409)
            }
            throw unknownObject()
        case .segments:
            guard let segment = context.catalog.segment(named: name, of: context.app.id) else {
                throw unknownObject()
            }
            return .changeCatalog(.delete(segment), deleted)
        case .definitions: return .changeCatalog(.delete(try definition(named: name, in: context)), deleted)
        }
    }
}
