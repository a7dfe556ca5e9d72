internal import Identifiers
internal import InstallationRecords
internal import JSON
internal import RecordFormat

/// The values of the table `profiles`. A value has no JSON, so that a segment's rule finds one tag or
/// attribute without parsing. If you change the layout, raise `Lane.schema`.
///
///     0       updated at, seven bytes of milliseconds
///     7       os, locale, app build, time zone: each a length plus one (zero if missing), and the text
///     then    the number of tags plus one (zero if none were set), and each tag
///     then    the number of attributes, and for each the name, the kind (one byte) and the value
///
/// Tags and names have a length in front. An integer or a number takes eight bytes.
enum ProfileValue {
    /// The kind of an attribute's value.
    enum ValueKind {
        static let no: UInt8 = 0
        static let yes: UInt8 = 1
        static let integer: UInt8 = 2
        static let number: UInt8 = 3
        static let text: UInt8 = 4
        /// An object or a list. It is not stored. A test of existence finds it, and every other test fails.
        static let other: UInt8 = 5
    }

    /// Appends a record in place. If it throws, the appended bytes are invalid. It accepts and rejects the
    /// same records as `ProfileRow`, with the same messages.
    static func append(
        _ record: Span<UInt8>, to value: inout [UInt8], with reader: JSONReader
    ) throws(RecordDecodingError) {
        try unsafe record.withUnsafeBytes { bytes throws(RecordDecodingError) in
            try unsafe ProfileRow.read(bytes, with: reader) { append($0, to: &value) }
        }
    }

    private static func append(_ record: JSONObject, to value: inout [UInt8]) {
        value.append(number: record["updatedAt"].timeMilliseconds(), byteCount: TokenValue.timeBytes)
        append(text: record["os"], to: &value)
        append(text: record["locale"], to: &value)
        append(text: record["appBuild"], to: &value)
        append(text: record["timeZone"], to: &value)
        var tags = record["tags"].array(countMax: Report.tagsMax)
        let areSet = tags.count > 0 || record["noTags"].optional?.bool() == true
        value.append(length: areSet ? tags.count + 1 : 0)
        while let tag = tags.next() {
            tag.checkName()
            unsafe value.append(counted: tag.utf8())
        }
        append(attributes: record["attributes"].optional, to: &value)
    }

    private static func append(text: JSONValue, to value: inout [UInt8]) {
        guard let text = text.optional else { return value.append(length: 0) }
        text.checkName()
        let bytes = unsafe text.utf8()
        value.append(length: bytes.count + 1)
        unsafe value.append(contentsOf: bytes)
    }

    /// Appends the attributes. An attribute of null counts as missing.
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

    /// Appends the kind and value of an attribute.
    private static func append(_ attribute: JSONValue, kind: JSONKind, to value: inout [UInt8]) {
        switch kind {
        case .boolean: value.append(attribute.bool() ? ValueKind.yes : ValueKind.no)
        case .string:
            value.append(ValueKind.text)
            unsafe value.append(counted: attribute.utf8())
        case .integer, .number:
            let number = attribute.double()
            // A larger integer is stored as a floating-point number.
            if kind == .integer, abs(number) < 0x1p62 {
                value.append(ValueKind.integer)
                value.append(number: Int64(attribute.int()), byteCount: numberBytes)
            } else {
                value.append(ValueKind.number)
                value.append(number: Int64(bitPattern: number.bitPattern), byteCount: numberBytes)
            }
        default: value.append(ValueKind.other)
        }
    }
}

/// Reading of single fields, in place.
extension ProfileValue {
    /// The texts in front of the tags, in their order in the value.
    enum TextField: Int {
        case os, locale, appBuild, timeZone

        static let count = 4
    }

    /// The size of an attribute's integer or number.
    static let numberBytes = 8

    @_lifetime(copy value)
    static func text(of field: TextField, in value: Span<UInt8>) -> Span<UInt8>? {
        var offset = TokenValue.timeBytes
        for index in 0...field.rawValue {
            // Negative for a missing text.
            let count = value.readLength(at: &offset) - 1
            if index == field.rawValue { return count < 0 ? nil : value.extracting(offset..<offset + count) }
            offset += max(0, count)
        }
        return nil
    }

    /// Returns the offset of the tags, behind the texts.
    static func tagsOffset(in value: Span<UInt8>) -> Int {
        var offset = TokenValue.timeBytes
        for _ in 0..<TextField.count {
            let count = value.readLength(at: &offset) - 1
            offset += max(0, count)
        }
        return offset
    }

    /// Whether a report has set tags, even an empty list.
    static func hasSetTags(in value: Span<UInt8>) -> Bool {
        var offset = tagsOffset(in: value)
        return value.readLength(at: &offset) > 0
    }

    static func hasTag(_ tag: Span<UInt8>, in value: Span<UInt8>) -> Bool {
        var offset = tagsOffset(in: value)
        let tagCount = max(0, value.readLength(at: &offset) - 1)
        for _ in 0..<tagCount {
            if value.readCountedBytes(at: &offset).equals(tag) { return true }
        }
        return false
    }

    /// Returns the offset of an attribute's kind, which its value follows, or nil if the name is missing.
    static func attributeOffset(of name: Span<UInt8>, in value: Span<UInt8>) -> Int? {
        var offset = tagsOffset(in: value)
        let tagCount = max(0, value.readLength(at: &offset) - 1)
        for _ in 0..<tagCount { _ = value.readCountedBytes(at: &offset) }
        let attributeCount = value.readLength(at: &offset)
        for _ in 0..<attributeCount {
            if value.readCountedBytes(at: &offset).equals(name) { return offset }
            skipAttribute(in: value, at: &offset)
        }
        return nil
    }

    /// Moves the offset from an attribute's kind behind its value.
    static func skipAttribute(in value: Span<UInt8>, at offset: inout Int) {
        let kind = value[offset]
        offset += 1
        switch kind {
        case ValueKind.integer, ValueKind.number: offset += numberBytes
        case ValueKind.text: _ = value.readCountedBytes(at: &offset)
        default: break
        }
    }
}
