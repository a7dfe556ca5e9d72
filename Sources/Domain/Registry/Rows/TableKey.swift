/// The kind of a row, which decides its table. Changes (`ChangeDecoder`) and the table `tokens` have it in
/// their keys. If you change a number, raise `Lane.schema`.
enum RowKind: UInt8 {
    case start = 1
    case update = 2
    case profile = 3
}

/// The keys of a lane's tables. Each key begins with the part that one walk has in common, so the rows of a
/// walk are adjacent. Then comes the recipient, so walks through tokens and profiles are in the same order and
/// can run in parallel. Recipient and installation together are the **holder** of a token.
///
/// Apps and types are an `OrderedNumber` from `NameTable`. Groups, activities and installations are a
/// `NameCode`, recipients a `RecipientCode`.
///
///     table       key: the part of a walk  → the rest of the key                 value
///
///     starts      app, type                → recipient, installation             the row
///     updates     app, group               → recipient, installation, activity   the row
///     profiles    app                      → recipient, installation or none     the profile
///     activities  app, activity, recipient, installation                         its group
///     groups      app, group                                                     the number of its activities
///     tokens      app, hash, kind, key of the start or the activity              nothing
///
/// The keys of two other tables are described in `NameTable` and `ReportedChanges`.
enum TableKey {
    /// The number of a token hash's bytes in a key. The row's value contains the full hash.
    static let hashBytes = 8

    /// Appends the holder. Returns false if recipient or installation is not a valid name.
    ///
    /// - Parameter installation: Empty for a profile without an installation.
    static func appendHolder(
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

    /// Appends the code of a group, or the code of no group. Returns false if the name is invalid.
    static func appendGroup(_ group: Span<UInt8>?, to key: inout [UInt8]) -> Bool {
        guard let group else {
            key.append(NameCode.Tag.none)
            return true
        }
        return NameCode.append(group, to: &key)
    }

    /// Writes the key in `updates` of an activity.
    ///
    /// - Parameters:
    ///   - key: The activity's key in `activities`.
    ///   - group: The code of the activity's group.
    ///   - updateKey: Receives the result in place of its content.
    static func writeUpdateKey(
        ofActivity key: Span<UInt8>, group: Span<UInt8>, into updateKey: inout [UInt8]
    ) {
        var appEnd = 0
        _ = OrderedNumber.read(key, at: &appEnd)
        updateKey.removeAll(keepingCapacity: true)
        updateKey.append(key.extracting(0..<appEnd))
        updateKey.append(group)
        appendUpdateSuffix(ofActivity: key, to: &updateKey)
    }

    /// Appends the part of an activity's key in `updates` behind app and group: the holder and the activity.
    ///
    /// - Parameter key: The activity's key in `activities`.
    static func appendUpdateSuffix(ofActivity key: Span<UInt8>, to updateKey: inout [UInt8]) {
        var appEnd = 0
        _ = OrderedNumber.read(key, at: &appEnd)
        var activityEnd = appEnd
        NameCode.skip(key, at: &activityEnd)
        updateKey.append(key.extracting(activityEnd..<key.count))
        updateKey.append(key.extracting(appEnd..<activityEnd))
    }

    /// Returns the holder in a key of `starts` or `activities`: the part behind app and type or activity.
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
    ///
    /// - Parameters:
    ///   - key: The row's key in `starts` or `activities`.
    ///   - hash: The full hash of its token.
    ///   - tokenKey: Receives the result in place of its content.
    static func writeTokenKey(
        of kind: RowKind, key: Span<UInt8>, hash: Span<UInt8>, into tokenKey: inout [UInt8]
    ) {
        var appEnd = 0
        _ = OrderedNumber.read(key, at: &appEnd)
        tokenKey.removeAll(keepingCapacity: true)
        tokenKey.append(key.extracting(0..<appEnd))
        tokenKey.append(hash.extracting(first: hashBytes))
        tokenKey.append(kind.rawValue)
        tokenKey.append(key.extracting(appEnd..<key.count))
    }

    /// Returns app and hash of a key of `tokens`: the prefix that all rows with the same token share.
    @_lifetime(copy key)
    static func tokenPrefix(of key: Span<UInt8>) -> Span<UInt8> {
        var appEnd = 0
        _ = OrderedNumber.read(key, at: &appEnd)
        return key.extracting(0..<appEnd + hashBytes)
    }
}
