package import ContentSchemas
internal import Identifiers
package import JSON
internal import Payloads
internal import Settings

/// An app's declaration of one of its `ActivityAttributes` types.
package struct ActivityType: Sendable, Hashable {
    package static let countPerAppMax = 200
    package static let requiredAttributesMax = 100
    /// The default time after which an update token that was not reported again expires.
    package static let updateTokenMillisecondsDefault: Int64 = 24 * 3_600_000
    /// One minute to seven days.
    private static let updateTokenMillisecondsRange = 60_000...7 * 86_400_000

    package var name: String
    /// The lifetime of an update token.
    package var updateTokenMilliseconds = updateTokenMillisecondsDefault
    /// The names of the attributes that every start must have.
    package var requiredAttributes: [String] = []
    /// The name of the attribute that holds the group.
    package var groupAttribute = GroupAttribute.defaultName
    /// Whether each group of the type belongs to one recipient, for example an order or a timer.
    package var isPrivate = false
    /// The schema of the type's `ContentState`, if the app has declared it.
    package var contentStateSchema: ContentSchema?
    /// The schema of the type's attributes, if the app has declared it.
    package var attributesSchema: ContentSchema?
    /// The layout for people, if the app has declared it.
    package var layout: ActivityLayout?

    package init(name: String) { self.name = name }

    package func write(to writer: inout JSONWriter) {
        writer.beginObject()
        writeFields(to: &writer)
        writer.endObject()
    }

    /// Writes the fields as members of the object that is open.
    func writeFields(to writer: inout JSONWriter) {
        writer.field("name", name)
        writer.field("updateTokenTtl", updateTokenLifetimeText)
        writer.field("requiredAttributes", requiredAttributes.isEmpty ? nil : requiredAttributes)
        writer.field("groupAttribute", groupAttribute)
        writer.field("private", isPrivate ? true : nil)
        writer.field("contentStateSchema", contentStateSchema)
        writer.field("attributesSchema", attributesSchema)
        if let layout {
            writer.name("layout")
            layout.write(to: &writer)
        }
    }

    /// The lifetime with its unit: in whole hours if possible, which people read more easily.
    private var updateTokenLifetimeText: String {
        let hourMilliseconds: Int64 = 3_600_000
        if updateTokenMilliseconds % hourMilliseconds == 0 {
            return "\(updateTokenMilliseconds / hourMilliseconds)h"
        }
        return Milliseconds(Int(updateTokenMilliseconds)).settingText
    }

    /// - Parameter isUnitless: whether times are milliseconds without a unit, as version 1 wrote them.
    package init(from object: JSONObject, isUnitless: Bool = false) {
        self.init(name: object["name"].name(), from: object, isUnitless: isUnitless)
    }

    /// Creates a type whose name is known from elsewhere, for example from the path of a request.
    package init(name: String, from object: JSONObject, isUnitless: Bool = false) {
        self.init(name: name)
        if let lifetime = object["updateTokenTtl"].optional {
            updateTokenMilliseconds =
                if isUnitless, lifetime.kind != .string {
                    Int64(lifetime.int(in: Self.updateTokenMillisecondsRange))
                } else {
                    Self.updateTokenMilliseconds(from: lifetime)
                }
        }
        requiredAttributes =
            object["requiredAttributes"].optional?.names(countMax: ActivityType.requiredAttributesMax) ?? []
        groupAttribute = object["groupAttribute"].optional?.name() ?? GroupAttribute.defaultName
        isPrivate = object["private"].optional?.bool() ?? false
        contentStateSchema = object["contentStateSchema"].optional.map(ContentSchema.init(from:))
        attributesSchema = object["attributesSchema"].optional.map(ContentSchema.init(from:))
        layout = object["layout"].optional.map(ActivityLayout.init(from:))
    }

    /// Reports the members of a request that were not read, so that a misspelled name does not become a default.
    package static func reportUnknownFields(in object: JSONObject) {
        if let layout = object["layout"].optional { ActivityLayout.reportUnknownFields(in: layout) }
        object.reportUnknownFields()
    }

    /// Reads a lifetime with its unit, such as `24h`.
    private static func updateTokenMilliseconds(from value: JSONValue) -> Int64 {
        let text = value.kind == .string ? value.string() : ""
        if let lifetime = Milliseconds(settingText: text),
            updateTokenMillisecondsRange.contains(lifetime.count)
        {
            return Int64(lifetime.count)
        }
        value.report("must be a time from 1m to 7d with its unit, such as \"24h\"", as: .outOfRange)
        return updateTokenMillisecondsDefault
    }
}

extension JSONWriter {
    fileprivate mutating func field(_ name: StaticString, _ schema: ContentSchema?) {
        guard let schema else { return }
        self.name(name)
        schema.write(to: &self)
    }
}
