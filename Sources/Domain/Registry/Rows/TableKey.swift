internal import LiveActivity

/// The kind of a row, which decides its table. Pending changes and the token index store it in their keys.
/// The numbers are part of the layout.
enum RowKind: UInt8 {
    case start = 1
    case update = 2
    case profile = 3
}

/// The keys of the tables. Rows of one scan are adjacent. Within a scan the rows are in the order of
/// recipients, so that tokens and profiles are walked in parallel.
///
///     starts      app, type                → recipient, installation             the row
///     updates     app, group               → recipient, installation, activity   the row
///     profiles    app                      → recipient, installation or none     the profile
///     activities  app, activity, recipient, installation                         its group
///     recipients  app, recipient, installation, activity                         nothing
///     tokens      app, hash, kind, key of the start or the activity              nothing
enum TableKey {
    /// The number of hash bytes in a key. The row contains the full hash.
    static let hashBytes = 8

    /// Appends recipient and installation. Returns false if one is not a valid name.
    ///
    /// - Parameter installation: Empty for a profile without an installation.
    static func append(
        isUser: Bool, recipient: Span<UInt8>, installation: Span<UInt8>, to key: inout [UInt8]
    ) -> Bool {
        guard RecipientCode.append(isUser: isUser, name: recipient, to: &key) else { return false }
        if installation.isEmpty {
            key.append(NameCode.Tag.none)
            return true
        }
        if !isUser, recipient.equals(installation) {
            key.append(NameCode.Tag.recipient)
            return true
        }
        return NameCode.append(installation, to: &key)
    }

    static func append(group: Span<UInt8>?, to key: inout [UInt8]) -> Bool {
        guard let group else {
            key.append(NameCode.Tag.none)
            return true
        }
        return NameCode.append(group, to: &key)
    }

    /// Writes the key in `updates` of the row for an `activities` key and its group.
    static func writeUpdateKey(ofActivity key: Span<UInt8>, group: Span<UInt8>, into out: inout [UInt8]) {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        let appEnd = offset
        NameCode.skip(key, at: &offset)
        out.removeAll(keepingCapacity: true)
        out.append(key.extracting(0..<appEnd))
        out.append(group)
        out.append(key.extracting(offset..<key.count))
        out.append(key.extracting(appEnd..<offset))
    }

    /// Writes the key in `recipients` for an `activities` key.
    static func writeRecipientKey(ofActivity key: Span<UInt8>, into out: inout [UInt8]) {
        writeUpdateKey(ofActivity: key, group: Span(), into: &out)
    }

    /// Writes the `activities` key for a key of `recipients`.
    static func writeActivityKey(ofRecipient key: Span<UInt8>, into out: inout [UInt8]) {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        let appEnd = offset
        let holderEnd = offset + holderEnd(in: key.extracting(offset..<key.count))
        out.removeAll(keepingCapacity: true)
        out.append(key.extracting(0..<appEnd))
        out.append(key.extracting(holderEnd..<key.count))
        out.append(key.extracting(appEnd..<holderEnd))
    }

    /// Returns the end of recipient and installation at the start of a key's part.
    static func holderEnd(in part: Span<UInt8>) -> Int {
        var offset = RecipientCode.end(in: part)
        NameCode.skip(part, at: &offset)
        return offset
    }

    /// Returns recipient and installation of a key of `starts` or `activities`: the part behind app and name.
    @_lifetime(copy key)
    static func holder(of kind: RowKind, in key: Span<UInt8>) -> Span<UInt8> {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        if kind == .start {
            _ = OrderedNumber.read(key, at: &offset)
        } else {
            NameCode.skip(key, at: &offset)
        }
        return key.extracting(offset..<key.count)
    }

    /// Writes the key in `tokens` of a start or an activity.
    static func writeTokenKey(of kind: RowKind, key: Span<UInt8>, hash: Span<UInt8>, into out: inout [UInt8])
    {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        out.removeAll(keepingCapacity: true)
        out.append(key.extracting(0..<offset))
        out.append(hash.extracting(first: hashBytes))
        out.append(kind.rawValue)
        out.append(key.extracting(offset..<key.count))
    }

    /// Returns the common prefix of all keys in `tokens` for one token of an app.
    @_lifetime(copy key)
    static func tokenPrefix(of key: Span<UInt8>) -> Span<UInt8> {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        return key.extracting(0..<offset + hashBytes)
    }
}
