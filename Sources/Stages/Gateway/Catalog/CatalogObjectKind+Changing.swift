internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import JSON

// The calls that put and delete the objects of an app.

extension CatalogObjectKind {
    /// Creates or replaces the activity type whose name is in the path.
    static func putType(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        let object = try context.bodyRoot().object()
        if let writtenName = object["name"].optional {
            let isSame = writtenName.string().isExactlyEqual(to: name)
            // `string` has already reported a value of another kind.
            if writtenName.kind == .string, !isSame {
                writtenName.report("must be the name in the path, or be omitted")
            }
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

    /// Creates or replaces the segment whose name is in the path.
    static func putSegment(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        let root = try context.bodyRoot()
        let object = root.object()
        // The command line and the book show the bare rule, so a body may also be one.
        let hasRuleMember = object["rule"].optional != nil || object.count == 0
        let rule = hasRuleMember ? object["rule"].segmentRule() : root.segmentRule()
        let segment = Segment(app: context.app.id, name: name, rule: rule)
        if hasRuleMember { object.reportUnknownFields() }
        try context.throwProblems()
        let isNew = context.catalog.segment(named: name, of: context.app.id) == nil
        if isNew, context.catalog.segments(of: context.app.id).count >= segmentsPerAppMax {
            throw tooMany("segments", limit: segmentsPerAppMax)
        }
        var json = JSONWriter(capacity: 1024)
        write(segment, to: &json)
        return .changeCatalog(.put(segment), .json(json.bytes))
    }

    /// Deletes the object whose name is in the path.
    func delete(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        let deleted = HTTPResponse(status: 204)
        switch self {
        case .activityTypes:
            if context.catalog.hasTypeRecord(named: name, of: context.app.id) {
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

    private static func tooMany(_ objects: String, limit: Int) -> RefusedRequest {
        RefusedRequest(
            [
                RequestProblem(
                    code: "too_many", at: "", message: "the app has \(limit) \(objects); delete one first")
            ],
            status: 409)
    }
}
