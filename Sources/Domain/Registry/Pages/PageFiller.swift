internal import LiveActivity
internal import Store

/// A writer of rows into a page as texts. Neighboring rows share the text of their type and group.
struct PageFiller: ~Copyable {
    private let names: NameTable
    private var typeNumber = NameTable.noName
    /// The position of the type's text in the page.
    private var type = 0..<0
    private var group = 0..<0
    private var hasGroup = false

    init(names: NameTable) { self.names = names }

    /// Appends a row of `starts` or `updates`.
    ///
    /// - Parameters:
    ///   - suffix: The part of its key behind app and type, or behind app and group.
    ///   - group: The group's code, or nil for a start.
    mutating func append(
        _ suffix: Span<UInt8>, value: Span<UInt8>, group: Span<UInt8>?, to page: inout TokenPage,
        snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) {
        var entry = TokenPage.Entry()
        entry.flags = value[0]
        entry.os = OSVersion.read(value, at: TokenValue.FieldOffset.os)
        entry.registeredAt = TokenValue.registeredAt(in: value)
        var offset = TokenValue.typeOffset(in: value)
        try lookUpType(OrderedNumber.read(value, at: &offset), page: &page, snapshot: picture)
        entry.hasType = typeNumber != NameTable.noName
        entry.type = type
        if let group, group[0] != NameCode.Tag.none {
            entry.hasGroup = true
            entry.group = text(ofGroup: group, value: value, page: &page)
        }
        entry.start = page.text.count
        if let key = TokenValue.optionalField(.key, in: value) {
            appendLongNames(of: key, to: &page, entry: &entry)
        } else {
            appendNames(of: suffix, isStart: group == nil, to: &page, entry: &entry)
        }
        StoredToken.read(value, at: offset, to: &page.text)
        entry.ends.3 = page.text.count
        page.text.append(TokenValue.tokenHash(in: value))
        entry.ends.4 = page.text.count
        if entry.flags & TokenValue.Flag.hasOptionalFields != 0 {
            entry.movedAt = TokenValue.movedAt(in: value)
            entry.dismissedAt = TokenValue.dismissedAt(in: value)
            if let channel = TokenValue.optionalField(.channel, in: value) {
                entry.hasChannel = true
                page.text.append(channel)
            }
        }
        entry.ends.5 = page.text.count
        page.entries.append(entry)
    }

    private func appendNames(
        of suffix: Span<UInt8>, isStart: Bool, to page: inout TokenPage, entry: inout TokenPage.Entry
    ) {
        var offset = 0
        _ = RecipientCode.read(suffix, at: &offset, to: &page.text)
        entry.ends.0 = page.text.count
        if suffix[offset] == NameCode.Tag.recipient {
            offset += 1
            entry.isOwnRecipient = true
        } else {
            _ = NameCode.read(suffix, at: &offset, to: &page.text)
        }
        entry.ends.1 = page.text.count
        if isStart {
            page.text.append(Self.startPrefix.span)
            page.text.append(copyOf: type)
        } else {
            page.text.append(Self.updatePrefix.span)
            _ = NameCode.read(suffix, at: &offset, to: &page.text)
        }
        entry.ends.2 = page.text.count
    }

    private static let startPrefix = Array("start:".utf8)
    private static let updatePrefix = Array("update:".utf8)

    private func appendLongNames(of key: Span<UInt8>, to page: inout TokenPage, entry: inout TokenPage.Entry)
    {
        let key = unsafe key.withUnsafeBytes { unsafe RegistryKey(bytes: $0) }
        page.text.append(Array((key?.recipient.text ?? "").utf8).span)
        entry.ends.0 = page.text.count
        page.text.append(Array((key?.installation ?? "").utf8).span)
        entry.ends.1 = page.text.count
        page.text.append(Array((key?.entry.text ?? "").utf8).span)
        entry.ends.2 = page.text.count
    }

    /// Returns the group's text. All rows of a selection have one group, unless it names activities.
    private mutating func text(
        ofGroup code: Span<UInt8>, value: Span<UInt8>, page: inout TokenPage
    ) -> Range<Int> {
        if hasGroup { return group }
        let start = page.text.count
        var offset = 0
        if !NameCode.read(code, at: &offset, to: &page.text),
            let text = TokenValue.optionalField(.group, in: value)
        {
            page.text.append(text)
        }
        group = start..<page.text.count
        hasGroup = true
        return group
    }

    /// Prepares for rows of another group.
    mutating func resetGroup() { hasGroup = false }

    private mutating func lookUpType(
        _ number: Int, page: inout TokenPage, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) {
        if number == typeNumber { return }
        typeNumber = number
        var name: [UInt8] = []
        if number != NameTable.noName { try names.appendName(of: number, to: &name, snapshot: picture) }
        type = page.text.count..<page.text.count + name.count
        page.text.append(name.span)
    }
}
