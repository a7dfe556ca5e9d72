internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat

/// The fields of a token's record (`TokenRow`), read without an allocation for each text: all texts are in one
/// buffer that the next record reuses, and a text field is its range in the buffer. It accepts and rejects the
/// same records as `TokenRow`, with the same messages.
struct TokenFields {
    private(set) var text: [UInt8] = []
    private(set) var isSandbox = false
    private(set) var token = 0..<0
    private(set) var tokenHash = 0..<0
    private(set) var attributesType: Range<Int>?
    /// For a start token of every type: the types that it must not start.
    private(set) var unregisteredTypes: [Range<Int>] = []
    private(set) var group: Range<Int>?
    private(set) var registeredAt: Int64 = 0
    private(set) var expiresAt: Int64?
    private(set) var os: OSVersion?
    private(set) var frequentPushesEnabled: Bool?
    private(set) var activitiesEnabled: Bool?
    private(set) var channel: Range<Int>?
    private(set) var dismissedAt: Int64?
    private(set) var movedAt: Int64?
    private(set) var movedTo: Range<Int>?
    private(set) var arrivedAt: Int64?
    private(set) var isUnproven = false

    /// Returns the bytes of a text field.
    subscript(range: Range<Int>) -> Span<UInt8> {
        @_lifetime(borrow self)
        get { text.span.extracting(range) }
    }

    /// Replaces all fields by the fields of a record. If it throws, they are invalid.
    mutating func read(_ record: Span<UInt8>, with reader: JSONReader) throws(RecordDecodingError) {
        text.removeAll(keepingCapacity: true)
        try unsafe record.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe TokenRow.read(bytes, with: reader) { read($0) }
        }
    }

    private mutating func read(_ record: JSONObject) {
        isSandbox = record["environment"].environment() == .sandbox
        token = append(record["token"])
        tokenHash = append(record["tokenHash"])
        attributesType = record["attributesType"].optional.map { appendName($0) }
        unregisteredTypes.removeAll(keepingCapacity: true)
        if var names = record["exceptTypes"].optional?.array(countMax: Installation.startTokensMax) {
            while let name = names.next() { unregisteredTypes.append(appendName(name)) }
        }
        group = record["group"].optional.map { appendName($0) }
        registeredAt = record["registeredAt"].timeMilliseconds()
        expiresAt = record["expiresAt"].optional?.timeMilliseconds()
        os = record["os"].optional.flatMap { value in
            value.checkName()
            return unsafe OSVersion(utf8: value.utf8())
        }
        frequentPushesEnabled = record["frequentPushesEnabled"].optional?.bool()
        activitiesEnabled = record["activitiesEnabled"].optional?.bool()
        channel = record["channel"].optional.map { appendName($0) }
        dismissedAt = record["dismissedAt"].optional?.timeMilliseconds()
        movedAt = record["movedAt"].optional?.timeMilliseconds()
        movedTo = record["movedTo"].optional.map { value in
            _ = value.recipient()
            return append(value)
        }
        arrivedAt = record["movedInAt"].optional?.timeMilliseconds()
        isUnproven = record["unproven"].optional?.bool() ?? false
    }

    private mutating func append(_ value: JSONValue) -> Range<Int> {
        let start = text.count
        unsafe text.append(contentsOf: value.utf8())
        return start..<text.count
    }

    private mutating func appendName(_ value: JSONValue) -> Range<Int> {
        value.checkName()
        return append(value)
    }
}
