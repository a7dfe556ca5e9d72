internal import JSON
internal import LiveActivity

/// A profile as a table stores it. The layout suits predicates that test one value: tags and attributes are
/// adjacent, values have a kind, and no parsing is needed. A change of the layout must change `Lane.schema`.
///
///     0       updated at, seven bytes of milliseconds
///     then    os, locale, app build, time zone: a length plus one (zero if missing), and the text
///     then    the count of tags and each tag; the count of attributes, and the name, kind and value of each
///     then    the topic's key, if a name in the table's key is stored as a digest
enum ProfileValue {
    enum ValueKind {
        static let no: UInt8 = 0
        static let yes: UInt8 = 1
        static let integer: UInt8 = 2
        static let number: UInt8 = 3
        static let text: UInt8 = 4
        /// An object or a list. It exists and equals nothing.
        static let other: UInt8 = 5
    }

    /// Appends a record in place. If it throws, the appended bytes are invalid. It accepts and rejects the
    /// same records as `ProfileRow`, with the same messages.
    ///
    /// - Parameter longKey: Empty if the table's key contains all names.
    static func append(
        _ record: Span<UInt8>, longKey: Span<UInt8>, to value: inout [UInt8], with reader: JSONReader
    ) throws(RecordDecodingError) {
        try unsafe record.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe ProfileRow.read(bytes, with: reader) { append($0, to: &value) }
        }
        value.append(length: longKey.count)
        value.append(longKey)
    }

    private static func append(_ record: JSONObject, to value: inout [UInt8]) {
        value.append(number: record["updatedAt"].timeMilliseconds(), bytes: TokenValue.timeBytes)
        append(text: record["os"], to: &value)
        append(text: record["locale"], to: &value)
        append(text: record["appBuild"], to: &value)
        append(text: record["timeZone"], to: &value)
        var tags = record["tags"].array(countMax: Report.tagsMax)
        value.append(length: tags.count)
        while let tag = tags.next() {
            tag.checkName()
            unsafe value.append(counted: tag.utf8)
        }
        append(attributes: record["attributes"].optional, to: &value)
    }

    private static func append(text: JSONValue, to value: inout [UInt8]) {
        guard let text = text.optional else { return value.append(length: 0) }
        text.checkName()
        let bytes = unsafe text.utf8
        value.append(length: bytes.count + 1)
        unsafe value.append(contentsOf: bytes)
    }

    /// A null attribute counts as missing.
    private static func append(attributes: JSONValue?, to value: inout [UInt8]) {
        guard let attributes else { return value.append(length: 0) }
        attributes.checkProfileAttributes()
        guard attributes.kind == .object else { return value.append(length: 0) }
        let members = attributes.object().members
        var count = 0
        for (_, attribute) in members where attribute.kind != .null { count += 1 }
        value.append(length: count)
        for (name, attribute) in members {
            guard let kind = attribute.kind, kind != .null else { continue }
            value.append(counted: name)
            append(attribute, kind: kind, to: &value)
        }
    }

    private static func append(_ attribute: JSONValue, kind: JSONKind, to list: inout [UInt8]) {
        switch kind {
        case .boolean: list.append(attribute.bool() ? ValueKind.yes : ValueKind.no)
        case .string:
            list.append(ValueKind.text)
            unsafe list.append(counted: attribute.utf8)
        case .integer, .number:
            let number = attribute.double()
            if kind == .integer, abs(number) < 0x1p62 {
                list.append(ValueKind.integer)
                list.append(number: Int64(attribute.int()), bytes: 8)
            } else {
                list.append(ValueKind.number)
                list.append(number: Int64(bitPattern: number.bitPattern), bytes: 8)
            }
        default: list.append(ValueKind.other)
        }
    }

    enum TextField: Int {
        case os, locale, appBuild, timeZone
    }

    @_lifetime(copy value)
    static func text(of wanted: TextField, in value: Span<UInt8>) -> Span<UInt8>? {
        var offset = TokenValue.timeBytes
        for index in 0...wanted.rawValue {
            let count = value.length(at: &offset) - 1
            if index == wanted.rawValue { return count < 0 ? nil : value.extracting(offset..<offset + count) }
            offset += max(0, count)
        }
        return nil
    }

    /// Returns the offset of the tags.
    static func tagsOffset(in value: Span<UInt8>) -> Int {
        var offset = TokenValue.timeBytes
        for _ in 0..<4 {
            let count = value.length(at: &offset) - 1
            offset += max(0, count)
        }
        return offset
    }

    static func hasTag(_ tag: Span<UInt8>, in value: Span<UInt8>) -> Bool {
        var offset = tagsOffset(in: value)
        for _ in 0..<value.length(at: &offset) {
            if value.bytes(at: &offset).equals(tag) { return true }
        }
        return false
    }

    /// Returns the offset of an attribute's kind, which its value follows, or nil if the name is missing.
    static func attributeOffset(of name: Span<UInt8>, in value: Span<UInt8>) -> Int? {
        var offset = tagsOffset(in: value)
        for _ in 0..<value.length(at: &offset) { _ = value.bytes(at: &offset) }
        for _ in 0..<value.length(at: &offset) {
            if value.bytes(at: &offset).equals(name) { return offset }
            skipAttribute(in: value, at: &offset)
        }
        return nil
    }

    static func skipAttribute(in value: Span<UInt8>, at offset: inout Int) {
        let kind = value[offset]
        offset += 1
        switch kind {
        case ValueKind.integer, ValueKind.number: offset += 8
        case ValueKind.text: _ = value.bytes(at: &offset)
        default: break
        }
    }
}

extension ProfileValue {
    /// Returns the topic's key if a name in the table's key is stored as a digest.
    @_lifetime(copy value)
    static func longKey(in value: Span<UInt8>) -> Span<UInt8>? {
        var offset = tagsOffset(in: value)
        for _ in 0..<value.length(at: &offset) { _ = value.bytes(at: &offset) }
        for _ in 0..<value.length(at: &offset) {
            _ = value.bytes(at: &offset)
            skipAttribute(in: value, at: &offset)
        }
        let key = value.bytes(at: &offset)
        return key.isEmpty ? nil : key
    }
}
