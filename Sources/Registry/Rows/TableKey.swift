internal import LiveActivity

/// Which table a row is in. A pending change carries it in front of its key, and so does the index of
/// tokens; the numbers are part of the layout.
enum RowKind: UInt8 {
    case start = 1
    case update = 2
    case profile = 3
}

/// The keys of the tables. What belongs together in a scan stands together, and within it everything is
/// in the order of recipients, so that tokens and profiles are walked side by side.
///
///     starts      app, type                → recipient, installation             the row
///     updates     app, group               → recipient, installation, activity   the row
///     profiles    app                      → recipient, installation or none     the profile
///     activities  app, activity, recipient, installation                         its group
///     recipients  app, recipient, installation, activity                         nothing
///     tokens      app, hash, kind, key of the start or the activity              nothing
enum TableKey {
    /// How much of a token's hash stands in a key; the row has all of it.
    static let hashBytes = 8

    /// Appends recipient and installation; false when one cannot be a name.
    ///
    /// - Parameter installation: empty for none.
    static func append(
        isUser: Bool, _ recipient: Span<UInt8>, _ installation: Span<UInt8>, to key: inout [UInt8]
    ) -> Bool {
        guard RecipientCode.append(isUser: isUser, recipient, to: &key) else { return false }
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

    /// The key in `updates` of the row that an `activities` key and its group speak of.
    static func update(ofActivity key: Span<UInt8>, group: Span<UInt8>, into out: inout [UInt8]) {
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

    /// The key in `recipients` of an `activities` key.
    static func recipient(ofActivity key: Span<UInt8>, into out: inout [UInt8]) {
        update(ofActivity: key, group: Span(), into: &out)
    }

    /// The `activities` key that a key of `recipients` speaks of.
    static func activity(ofRecipient key: Span<UInt8>, into out: inout [UInt8]) {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        let appEnd = offset
        let holderEnd = offset + holderEnd(key.extracting(offset..<key.count))
        out.removeAll(keepingCapacity: true)
        out.append(key.extracting(0..<appEnd))
        out.append(key.extracting(holderEnd..<key.count))
        out.append(key.extracting(appEnd..<holderEnd))
    }

    /// Where recipient and installation end, which a key's part begins with.
    static func holderEnd(_ part: Span<UInt8>) -> Int {
        var offset = RecipientCode.end(part)
        NameCode.skip(part, at: &offset)
        return offset
    }

    /// Recipient and installation of a key of `starts` or `activities`: what stands behind app and name.
    @_lifetime(copy key)
    static func holder(_ kind: RowKind, _ key: Span<UInt8>) -> Span<UInt8> {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        if kind == .start {
            _ = OrderedNumber.read(key, at: &offset)
        } else {
            NameCode.skip(key, at: &offset)
        }
        return key.extracting(offset..<key.count)
    }

    /// The key in `tokens` of a start or an activity.
    static func token(_ kind: RowKind, _ key: Span<UInt8>, hash: Span<UInt8>, into out: inout [UInt8]) {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        out.removeAll(keepingCapacity: true)
        out.append(key.extracting(0..<offset))
        out.append(hash.extracting(first: hashBytes))
        out.append(kind.rawValue)
        out.append(key.extracting(offset..<key.count))
    }

    /// What all keys in `tokens` of one token of an app begin with.
    @_lifetime(copy key)
    static func tokenPrefix(_ key: Span<UInt8>) -> Span<UInt8> {
        var offset = 0
        _ = OrderedNumber.read(key, at: &offset)
        return key.extracting(0..<offset + hashBytes)
    }
}
