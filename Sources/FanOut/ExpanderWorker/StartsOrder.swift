internal import Glibc
internal import Registry
internal import Stages
internal import Store

/// Where the parts of a group's ledger row's key end: `app/group/recipient/generation/installation`.
struct LedgerKeyParts {
    let appEnd: Int
    let groupEnd: Int
    let recipientEnd: Int
    let generationEnd: Int

    /// Nil for a scope's key, and for that of an activity without a group.
    init?(_ key: Span<UInt8>) {
        guard let app = key.slash(from: 0), let group = key.slash(from: app + 1), group > app + 1,
            let recipient = key.slash(from: group + 1), let generation = key.slash(from: recipient + 1),
            key.slash(from: generation + 1) == nil
        else { return nil }
        (appEnd, groupEnd, recipientEnd, generationEnd) = (app, group, recipient, generation)
    }
}

extension Span<UInt8> {
    /// Where the first slash stands from there on.
    fileprivate func slash(from start: Int) -> Int? {
        unsafe withUnsafeBytes { bytes in
            guard start < bytes.count, let begin = bytes.baseAddress,
                let found = unsafe memchr(begin + start, Int32(UInt8(ascii: "/")), bytes.count - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - begin
        }
    }
}

/// The order of `starts` in its view: the starts of a group stand in the order in which a page walks through its
/// recipients, so that a page's rows share pages of the file; by their names each would cost one. For that the
/// recipient's bucket stands before it. Scopes stand as they are.
enum StartsOrder: RowOrder {
    /// With its bucket it is as long as the file takes.
    static let keyBytesMax = Limits.keyBytesMax - RecipientBucket.bytes
    /// `u:` or `i:`.
    private static let markBytes = 2

    static func write(stored key: Span<UInt8>, to stored: inout [UInt8]) {
        if NewestStart.isKey(key) { return newest(key, to: &stored) }
        guard let parts = LedgerKeyParts(key) else { return stored.append(span: key) }
        let start = parts.groupEnd + 1
        stored.append(span: key.extracting(0..<start))
        append(bucketOf: key.extracting(start..<parts.recipientEnd), to: &stored)
        stored.append(span: key.extracting(start..<key.count))
    }

    /// The mark, the bucket, and then the app.
    private static func newest(_ key: Span<UInt8>, to stored: inout [UInt8]) {
        let first = key.slash(from: 0) ?? key.count
        let second = key.slash(from: first + 1) ?? key.count
        stored.append(NewestStart.mark)
        append(bucketOf: key.extracting(min(first + 1, second)..<second), to: &stored)
        stored.append(span: key.extracting(1..<key.count))
    }

    private static func append(bucketOf recipient: Span<UInt8>, to stored: inout [UInt8]) {
        let bucket = RecipientBucket.of(
            recipient.extracting(min(markBytes, recipient.count)..<recipient.count))
        stored.append(UInt8(truncatingIfNeeded: bucket >> 8))
        stored.append(UInt8(truncatingIfNeeded: bucket))
    }

    static func write(key stored: Span<UInt8>, to key: inout [UInt8]) {
        guard let start = bucketStart(in: stored), start + RecipientBucket.bytes <= stored.count else {
            return key.append(span: stored)
        }
        key.append(span: stored.extracting(0..<start))
        key.append(span: stored.extracting(start + RecipientBucket.bytes..<stored.count))
    }

    /// Nil for a key that stands as it is.
    private static func bucketStart(in stored: Span<UInt8>) -> Int? {
        if NewestStart.isKey(stored) { return 1 }
        guard let first = stored.slash(from: 0), let second = stored.slash(from: first + 1),
            second > first + 1,
            // A bucket's bytes are any; but behind a scope's recipient there is nothing.
            stored.slash(from: second + 1) != nil
        else { return nil }
        return second + 1
    }
}
