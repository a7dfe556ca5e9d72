/// An object that has settings: a topic, or a broker by its id.
struct ConfigResource: Hashable {
    // Kafka's numbers of the kinds.
    static let topic: Int8 = 2
    static let broker: Int8 = 4

    var kind: Int8
    var name: String
}

/// The request for settings.
struct DescribeConfigsRequest {
    struct Query {
        var resource: ConfigResource
        /// The names of the settings. Nil for all.
        var names: [String]?
    }

    var queries: [Query]
    /// Whether the client asks for the synonyms of each setting: the settings from which its value can come.
    var wantsSynonyms: Bool

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        queries = try reader.array { (reader) throws(WireError) in
            let resource = ConfigResource(kind: try reader.int8(), name: try reader.string())
            let names = try reader.nullableArray { (reader) throws(WireError) in try reader.string() }
            try reader.skipTags()
            return Query(resource: resource, names: names)
        }
        wantsSynonyms = try reader.bool()
        if version >= 3 { _ = try reader.bool() }  // include_documentation
        try reader.skipTags()
    }
}

/// The answer: the settings of each topic or broker.
struct DescribeConfigsResponse {
    struct DescribedResource {
        var resource: ConfigResource
        var error = ErrorCode.none
        var message: String?
        var settings: [DescribedSetting] = []
    }

    var resources: [DescribedResource]

    func write(to writer: inout WireWriter, version: Int16, request: DescribeConfigsRequest) {
        writer.zeroThrottleTime()
        writer.array(resources) { writer, described in
            writer.error(described.error)
            writer.message(described.message)
            writer.int8(described.resource.kind)
            writer.string(described.resource.name)
            writer.array(described.settings) {
                Self.writeSetting($1, to: &$0, version: version, request: request)
            }
            writer.emptyTags()
        }
        writer.emptyTags()
    }

    private static func writeSetting(
        _ setting: DescribedSetting, to writer: inout WireWriter, version: Int16,
        request: DescribeConfigsRequest
    ) {
        writer.string(setting.name)
        writer.nullableString(setting.value)
        writer.bool(setting.isReadOnly)
        writer.int8(setting.source.rawValue)
        writer.bool(false)  // is_sensitive
        // A setting has no other source here, so it is its only synonym.
        writer.array(request.wantsSynonyms ? [setting] : []) { writer, setting in
            writer.string(setting.name)
            writer.nullableString(setting.value)
            writer.int8(setting.source.rawValue)
            writer.emptyTags()
        }
        if version >= 3 {
            writer.int8(setting.kind.rawValue)
            writer.nullableString(nil)  // documentation
        }
        writer.emptyTags()
    }
}
