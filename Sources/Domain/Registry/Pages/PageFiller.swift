internal import Identifiers
internal import InstallationRecords
internal import Store

/// A writer that decodes rows of `starts` and `updates` and appends them to a page. Neighboring rows share the
/// texts of their type and group. A filler serves one page only.
struct PageFiller: ~Copyable {
    private let names: NameTable

    // The last type and group, and the positions of their texts in the page.

    private var typeNumber = NameTable.noName
    private var typeText = 0..<0
    private var hasGroupText = false
    private var groupText = 0..<0

    private static let startPrefix = Array("start:".utf8)
    /// The text before an activity's id in `TokenPageRow.entryText`.
    static let updatePrefix = Array("update:".utf8)

    init(names: NameTable) { self.names = names }

    /// Appends a row.
    ///
    /// - Parameters:
    ///   - suffix: The part of the row's key behind app and type, or behind app and group.
    ///   - group: The group's code, or nil for a start.
    mutating func append(
        _ suffix: Span<UInt8>, value: Span<UInt8>, group: Span<UInt8>?, to page: inout TokenPage,
        snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        var row = TokenPage.RowLayout()
        row.flags = value[0]
        row.os = OSVersion.read(value, at: TokenValue.FieldOffset.os)
        row.registeredAt = TokenValue.registeredAt(in: value)
        row.isUnproven = TokenValue.isUnproven(value)
        var offset = TokenValue.typeOffset(in: value)
        try lookUpType(OrderedNumber.read(value, at: &offset), page: &page, snapshot: snapshot)
        if typeNumber != NameTable.noName { row.type = typeText }
        if let group, group[0] != NameCode.Tag.none {
            row.group = appendGroup(group, value: value, to: &page)
        }
        row.start = page.text.count
        if let key = TokenValue.optionalField(.topicKey, in: value) {
            appendLongNames(of: key, to: &page, row: &row)
        } else {
            appendNames(of: suffix, isStart: group == nil, to: &page, row: &row)
        }
        StoredToken.read(value, at: offset, to: &page.text)
        row.ends.token = page.text.count
        page.text.append(TokenValue.tokenHash(in: value))
        row.ends.hash = page.text.count
        if row.flags & TokenValue.Flag.hasOptionalFields != 0 {
            row.movedAt = TokenValue.movedAt(in: value)
            row.dismissedAt = TokenValue.dismissedAt(in: value)
            if let channel = TokenValue.optionalField(.channel, in: value) {
                row.hasChannel = true
                page.text.append(channel)
            }
        }
        row.ends.channel = page.text.count
        page.rows.append(row)
    }

    /// Prepares for rows of another group.
    mutating func resetGroup() { hasGroupText = false }

    /// Appends recipient, installation and entry from the row's key.
    private func appendNames(
        of suffix: Span<UInt8>, isStart: Bool, to page: inout TokenPage, row: inout TokenPage.RowLayout
    ) {
        var offset = 0
        _ = RecipientCode.read(suffix, at: &offset, to: &page.text)
        row.ends.recipient = page.text.count
        if suffix[offset] == NameCode.Tag.recipient {
            offset += 1
            row.isOwnRecipient = true
        } else {
            _ = NameCode.read(suffix, at: &offset, to: &page.text)
        }
        row.ends.installation = page.text.count
        if isStart {
            page.text.append(Self.startPrefix.span)
            page.text.append(copyOf: typeText)
        } else {
            page.text.append(Self.updatePrefix.span)
            _ = NameCode.read(suffix, at: &offset, to: &page.text)
        }
        row.ends.entry = page.text.count
    }

    /// Appends recipient, installation and entry from the record's key in the topic, because the row's key
    /// contains one of them only as a digest.
    private func appendLongNames(
        of topicKey: Span<UInt8>, to page: inout TokenPage, row: inout TokenPage.RowLayout
    ) {
        let key = unsafe topicKey.withUnsafeBytes { unsafe RegistryKey(bytes: $0) }
        page.text.append(Array((key?.recipient.text ?? "").utf8).span)
        row.ends.recipient = page.text.count
        page.text.append(Array((key?.installation ?? "").utf8).span)
        row.ends.installation = page.text.count
        page.text.append(Array((key?.entry.text ?? "").utf8).span)
        row.ends.entry = page.text.count
    }

    /// Returns the position of the group's text, and appends the text before the first row of the group. All
    /// rows of a selection have one group, unless the selection names activities.
    private mutating func appendGroup(
        _ code: Span<UInt8>, value: Span<UInt8>, to page: inout TokenPage
    ) -> Range<Int> {
        if hasGroupText { return groupText }
        let start = page.text.count
        var offset = 0
        let isComplete = NameCode.read(code, at: &offset, to: &page.text)
        if !isComplete, let longName = TokenValue.optionalField(.group, in: value) {
            page.text.append(longName)
        }
        groupText = start..<page.text.count
        hasGroupText = true
        return groupText
    }

    /// Appends the type's text if the previous row has another type.
    private mutating func lookUpType(
        _ number: Int, page: inout TokenPage, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) {
        if number == typeNumber { return }
        typeNumber = number
        var name: [UInt8] = []
        if number != NameTable.noName { try names.appendName(of: number, to: &name, snapshot: snapshot) }
        typeText = page.text.count..<page.text.count + name.count
        page.text.append(name.span)
    }
}
