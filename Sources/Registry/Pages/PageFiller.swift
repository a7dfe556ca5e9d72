internal import LiveActivity
internal import Store

/// Writes rows into a page as texts. Names that many rows share are looked up once.
struct PageFiller: ~Copyable {
    private let names: Names
    private var typeNumber = Names.none
    private var typeText: [UInt8] = []

    init(_ names: Names) { self.names = names }

    /// A row of `starts` or `updates`.
    ///
    /// - Parameters:
    ///   - suffix: its key behind app and type, or behind app and group.
    ///   - group: the group's code, nil for a start.
    mutating func append(
        _ suffix: Span<UInt8>, _ value: Span<UInt8>, group: Span<UInt8>?, to page: inout TokenPage,
        _ view: borrowing ReadView
    ) throws(StoreError) {
        var entry = TokenPage.Entry()
        entry.start = page.bytes.count
        entry.flags = value[0]
        entry.os = OSVersion.read(value, at: TokenValue.Place.os)
        entry.registeredAt = TokenValue.registeredAt(value)
        var place = TokenValue.typePlace(value)
        try lookUp(type: OrderedNumber.read(value, at: &place), view)
        entry.hasType = typeNumber != Names.none
        if let key = TokenValue.more(.key, value) {
            appendLong(key, &page, &entry)
        } else {
            appendNames(suffix, isStart: group == nil, &page, &entry)
        }
        StoredToken.read(value, at: place, to: &page.bytes)
        entry.ends.3 = page.bytes.count
        page.bytes.append(TokenValue.hash(value))
        entry.ends.4 = page.bytes.count
        if let group, group[0] != NameCode.Tag.none {
            entry.hasGroup = true
            var groupPlace = 0
            if !NameCode.read(group, at: &groupPlace, to: &page.bytes),
                let text = TokenValue.more(.group, value)
            {
                page.bytes.append(text)
            }
        }
        entry.ends.5 = page.bytes.count
        page.bytes.append(contentsOf: typeText)
        entry.ends.6 = page.bytes.count
        if entry.flags & TokenValue.Flag.hasMore != 0 {
            entry.movedAt = TokenValue.movedAt(value)
            if let channel = TokenValue.more(.channel, value) {
                entry.hasChannel = true
                page.bytes.append(channel)
            }
        }
        entry.ends.7 = page.bytes.count
        page.entries.append(entry)
    }

    private func appendNames(
        _ suffix: Span<UInt8>, isStart: Bool, _ page: inout TokenPage, _ entry: inout TokenPage.Entry
    ) {
        var place = 0
        _ = RecipientCode.read(suffix, at: &place, to: &page.bytes)
        entry.ends.0 = page.bytes.count
        if suffix[place] == NameCode.Tag.recipient {
            place += 1
            entry.isItsRecipient = true
        } else {
            _ = NameCode.read(suffix, at: &place, to: &page.bytes)
        }
        entry.ends.1 = page.bytes.count
        if isStart {
            page.bytes.append(contentsOf: Self.start)
            page.bytes.append(contentsOf: typeText)
        } else {
            page.bytes.append(contentsOf: Self.update)
            _ = NameCode.read(suffix, at: &place, to: &page.bytes)
        }
        entry.ends.2 = page.bytes.count
    }

    private static let start = Array("start:".utf8)
    private static let update = Array("update:".utf8)

    private func appendLong(_ key: Span<UInt8>, _ page: inout TokenPage, _ entry: inout TokenPage.Entry) {
        let key = unsafe key.withUnsafeBytes { unsafe RegistryKey(bytes: $0) }
        page.bytes.append(contentsOf: (key?.recipient.text ?? "").utf8)
        entry.ends.0 = page.bytes.count
        page.bytes.append(contentsOf: (key?.installation ?? "").utf8)
        entry.ends.1 = page.bytes.count
        page.bytes.append(contentsOf: (key?.entry.text ?? "").utf8)
        entry.ends.2 = page.bytes.count
    }

    private mutating func lookUp(type: Int, _ view: borrowing ReadView) throws(StoreError) {
        if type == typeNumber { return }
        typeNumber = type
        typeText.removeAll(keepingCapacity: true)
        if type != Names.none { try names.append(type, to: &typeText, view) }
    }
}
