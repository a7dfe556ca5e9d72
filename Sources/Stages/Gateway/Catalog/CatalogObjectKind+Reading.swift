internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import JSON
internal import Payloads

// The calls that list and show the objects of an app.

extension CatalogObjectKind {
    /// Lists the objects without their contents, which could be megabytes together. Segments are in the order of their
    /// names, definitions in that of their numbers, and types in that of the app.
    func list(in context: RequestContext) -> RequestDecision {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.name("items")
        json.beginArray()
        switch self {
        case .activityTypes: Self.write(names: context.app.activityTypes.map(\.name), to: &json)
        case .segments:
            Self.write(names: context.catalog.segments(of: context.app.id).map(\.name), to: &json)
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

    /// Shows the object whose name is in the path.
    func show(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try context.name(inPath: "name")
        var json = JSONWriter(capacity: 4096)
        switch self {
        case .activityTypes:
            let types = context.app.activityTypes
            guard let type = types.first(where: { $0.name.isExactlyEqual(to: name) }) else {
                throw unknownObject()
            }
            type.write(to: &json)
        case .segments:
            guard let segment = context.catalog.segment(named: name, of: context.app.id) else {
                throw unknownObject()
            }
            Self.write(segment, to: &json)
        case .definitions:
            // The name of a definition is its number, as in the field `notificationKey`.
            Self.write(try definition(named: name, in: context), to: &json)
        }
        return .answer(.json(json.bytes))
    }

    static func write(_ segment: Segment, to json: inout JSONWriter) {
        json.beginObject()
        json.field("name", segment.name)
        json.name("rule")
        json.value(segment.rule)
        json.endObject()
    }

    /// Writes a definition with the field names of the Netmera calls that it serves.
    private static func write(_ definition: NotificationDefinition, to json: inout JSONWriter) {
        json.beginObject()
        writeSummary(of: definition, to: &json)
        json.field("title", definition.content.alert?.title?.plainText)
        json.field("message", definition.content.alert?.body?.plainText)
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
}
