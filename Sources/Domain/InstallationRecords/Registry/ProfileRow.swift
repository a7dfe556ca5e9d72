internal import Identifiers
package import JSON
package import RecordFormat

/// A profile: the tags, attributes and settings by which segments choose recipients. It is a record of
/// `registry` under `profile`.
///
/// If the key names an installation, the row is that installation's profile. Otherwise it is a backend's
/// profile of the user, for all the user's installations.
package struct ProfileRow: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// Nil if no report has set tags. An empty list that a backend has set is a value: it hides the tags of phones.
    package var tags: Maybe<[String]>
    /// A flat JSON object.
    package var attributes: Maybe<RawJSON>
    package var locale: Maybe<String>
    package var timeZone: Maybe<String>
    package var os: Maybe<String>
    package var appBuild: Maybe<String>
    /// Milliseconds since 1970, by the server's clock.
    package var updatedAt: Int64

    package init(
        tags: [String]? = nil, attributes: RawJSON? = nil, locale: String? = nil, timeZone: String? = nil,
        os: String? = nil, appBuild: String? = nil, updatedAt: Int64
    ) {
        self.tags = tags
        self.attributes = attributes
        self.locale = locale
        self.timeZone = timeZone
        self.os = os
        self.appBuild = appBuild
        self.updatedAt = updatedAt
    }

    package func write(to writer: inout JSONWriter) {
        // Earlier versions need the list.
        writer.field("tags", tags ?? [])
        writer.field("noTags", tags?.isEmpty == true ? true : nil)
        writer.field("attributes", attributes)
        writer.field("locale", locale)
        writer.field("timeZone", timeZone)
        writer.field("os", os)
        writer.field("appBuild", appBuild)
        writer.field("updatedAt", updatedAt)
    }

    package init(from record: JSONObject) {
        let tags = record["tags"].names(countMax: Report.tagsMax)
        let areSet = !tags.isEmpty || record["noTags"].optional?.bool() == true
        self.init(
            tags: areSet ? tags : nil,
            attributes: record["attributes"].optional?.profileAttributes(),
            locale: record["locale"].optional?.name(), timeZone: record["timeZone"].optional?.name(),
            os: record["os"].optional?.name(), appBuild: record["appBuild"].optional?.name(),
            updatedAt: record["updatedAt"].timeMilliseconds())
    }
}
