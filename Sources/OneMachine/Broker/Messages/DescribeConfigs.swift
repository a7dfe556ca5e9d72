/// The resources with settings: topics and the broker.
struct ConfigResource: Hashable {
    static let topic: Int8 = 2
    static let broker: Int8 = 4

    var kind: Int8
    var name: String
}

struct DescribeConfigsRequest {
    /// `names` nil: every setting.
    var resources: [(resource: ConfigResource, names: [String]?)]
    var wantsSynonyms: Bool

    init(from reader: inout WireReader, version: Int16) throws(WireError) {
        resources = try reader.array { (reader) throws(WireError) in
            let resource = ConfigResource(kind: try reader.int8(), name: try reader.string())
            let names = try reader.nullableArray { (reader) throws(WireError) in try reader.string() }
            try reader.skipTags()
            return (resource, names)
        }
        wantsSynonyms = try reader.bool()
        if version >= 3 { _ = try reader.bool() }  // wants explanations: the operator's book has them
        try reader.skipTags()
    }
}

struct DescribeConfigsResponse {
    struct DescribedResource {
        var resource: ConfigResource
        var error = ErrorCode.none
        var message: String?
        var settings: [DescribedSetting] = []
    }

    var resources: [DescribedResource]

    func write(to writer: inout WireWriter, version: Int16, request: DescribeConfigsRequest) {
        writer.int32(0)
        writer.array(resources) { writer, each in
            writer.error(each.error)
            writer.message(each.message)
            writer.int8(each.resource.kind)
            writer.string(each.resource.name)
            writer.array(each.settings) {
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
        writer.bool(false)
        writer.array(request.wantsSynonyms ? [setting] : []) { writer, setting in
            writer.string(setting.name)
            writer.nullableString(setting.value)
            writer.int8(setting.source.rawValue)
            writer.emptyTags()
        }
        if version >= 3 {
            writer.int8(setting.kind.rawValue)
            writer.nullableString(nil)
        }
        writer.emptyTags()
    }
}
