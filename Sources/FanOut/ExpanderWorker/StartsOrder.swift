internal import Registry
internal import Stages
internal import Store

/// Where the parts of a group's ledger row's key end: `app/group/recipient/generation/installation`.
struct LedgerKeyParts {
    private(set) var appEnd = 0
    private(set) var groupEnd = 0
    private(set) var recipientEnd = 0
    private(set) var generationEnd = 0

    /// Nil for a scope's key, and for that of an activity without a group.
    init?(_ key: Span<UInt8>) {
        var slashes = 0
        for index in 0..<key.count where key[index] == UInt8(ascii: "/") {
            slashes += 1
            switch slashes {
            case 1: appEnd = index
            case 2: groupEnd = index
            case 3: recipientEnd = index
            case 4: generationEnd = index
            default: return nil
            }
        }
        if slashes != 4 || groupEnd == appEnd + 1 { return nil }
    }
}

/// The order of `starts` in its view: the starts of a group stand in the order in which a page walks through its
/// recipients, so that a page's rows share pages of the file; by their names each would cost one. For that the
/// recipient's bucket stands before it. Scopes stand as they are.
struct StartsOrder: RowOrder {
    /// With its bucket it is as long as the file takes.
    static let keyBytesMax = Limits.keyBytesMax - RecipientBucket.bytes
    private static let separator = UInt8(ascii: "/")
    /// `u:` or `i:`.
    private static let markBytes = 2

    func write(stored key: Span<UInt8>, to stored: inout [UInt8]) {
        if NewestStart.isKey(key) { return newest(key, to: &stored) }
        guard let parts = LedgerKeyParts(key) else { return stored.append(span: key) }
        let start = parts.groupEnd + 1
        stored.append(span: key.extracting(0..<start))
        append(bucketOf: key.extracting(start..<parts.recipientEnd), to: &stored)
        stored.append(span: key.extracting(start..<key.count))
    }

    /// The mark, the bucket, and then the app.
    private func newest(_ key: Span<UInt8>, to stored: inout [UInt8]) {
        var (first, second) = (key.count, key.count)
        for index in 0..<key.count where key[index] == Self.separator {
            if first < key.count {
                second = index
                break
            }
            first = index
        }
        stored.append(NewestStart.mark)
        append(bucketOf: key.extracting(min(first + 1, second)..<second), to: &stored)
        stored.append(span: key.extracting(1..<key.count))
    }

    private func append(bucketOf recipient: Span<UInt8>, to stored: inout [UInt8]) {
        let bucket = RecipientBucket.of(
            recipient.extracting(min(Self.markBytes, recipient.count)..<recipient.count))
        stored.append(UInt8(truncatingIfNeeded: bucket >> 8))
        stored.append(UInt8(truncatingIfNeeded: bucket))
    }

    func write(key stored: Span<UInt8>, to key: inout [UInt8]) {
        guard let start = bucketStart(in: stored), start + RecipientBucket.bytes <= stored.count else {
            return key.append(span: stored)
        }
        key.append(span: stored.extracting(0..<start))
        key.append(span: stored.extracting(start + RecipientBucket.bytes..<stored.count))
    }

    /// Nil for a key that stands as it is.
    private func bucketStart(in stored: Span<UInt8>) -> Int? {
        if NewestStart.isKey(stored) { return 1 }
        var (first, second): (Int?, Int?)
        for index in 0..<stored.count where stored[index] == Self.separator {
            guard let group = first else {
                first = index
                continue
            }
            // A bucket's bytes are any; but behind a scope's recipient there is nothing, and an activity has no group.
            if let second { return second + 1 }
            if index == group + 1 { return nil }
            second = index
        }
        return nil
    }
}
