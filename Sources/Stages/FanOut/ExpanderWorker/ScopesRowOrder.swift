internal import Glibc
internal import Registry
internal import StageSupport
internal import Store

/// The ends of the parts of a group's ledger key: `app/group/recipient/generation/installation`.
struct LedgerKeyParts {
    let appEnd: Int
    let groupEnd: Int
    let recipientEnd: Int
    let generationEnd: Int

    /// Returns nil for a scope's key and for the key of an activity without a group.
    init?(_ key: Span<UInt8>) {
        guard let app = key.slash(from: 0), let group = key.slash(from: app + 1), group > app + 1,
            let recipient = key.slash(from: group + 1), let generation = key.slash(from: recipient + 1),
            key.slash(from: generation + 1) == nil
        else { return nil }
        (appEnd, groupEnd, recipientEnd, generationEnd) = (app, group, recipient, generation)
    }
}

extension Span<UInt8> {
    /// Whether a key of `starts` begins with `app//`. Nearly no row has such a key.
    var isOfActivityWithoutGroup: Bool {
        guard let app = slash(from: 0), app + 1 < count else { return false }
        return self[app + 1] == UInt8(ascii: "/")
    }

    /// Returns the index of the first slash at or after `start`.
    fileprivate func slash(from start: Int) -> Int? {
        unsafe withUnsafeBytes { bytes in
            guard start < bytes.count, let begin = bytes.baseAddress,
                let found = unsafe memchr(begin + start, Int32(UInt8(ascii: "/")), bytes.count - start)
            else { return nil }
            return unsafe UnsafeRawPointer(found) - begin
        }
    }
}

/// The row order of `starts` in its view. The starts of a group lie in the order in which a page walks
/// through its recipients. So the rows of a page share pages of the file. In the order of names, each row
/// would cost a file page. To get this order, the recipient's bucket goes before the recipient. Keys of
/// scopes and of derived rows are unchanged.
enum ScopesRowOrder: RowOrder {
    /// The longest key. With its bucket it reaches the limit of the file.
    static let keyBytesMax = EnvironmentLimits.keyBytesMax - RecipientBucket.byteCount
    /// The length of `u:` or `i:`.
    private static let recipientMarkBytes = 2

    static func writeStoredKey(for key: Span<UInt8>, to stored: inout [UInt8]) {
        guard !ScopesDerivation.isKey(key), let parts = LedgerKeyParts(key) else {
            return stored.append(span: key)
        }
        let start = parts.groupEnd + 1
        stored.append(span: key.extracting(0..<start))
        append(bucketOf: key.extracting(start..<parts.recipientEnd), to: &stored)
        stored.append(span: key.extracting(start..<key.count))
    }

    /// Appends the bucket of a recipient, with which its rows begin behind their group.
    static func append(bucketOf recipient: Span<UInt8>, to stored: inout [UInt8]) {
        let bucket = RecipientBucket.bucket(
            of: recipient.extracting(min(recipientMarkBytes, recipient.count)..<recipient.count))
        stored.append(UInt8(truncatingIfNeeded: bucket >> 8))
        stored.append(UInt8(truncatingIfNeeded: bucket))
    }

    static func writeTopicKey(for stored: Span<UInt8>, to key: inout [UInt8]) {
        guard let start = bucketStart(in: stored), start + RecipientBucket.byteCount <= stored.count else {
            return key.append(span: stored)
        }
        key.append(span: stored.extracting(0..<start))
        key.append(span: stored.extracting(start + RecipientBucket.byteCount..<stored.count))
    }

    /// Returns nil for a key that is stored unchanged.
    private static func bucketStart(in stored: Span<UInt8>) -> Int? {
        guard !ScopesDerivation.isKey(stored), let first = stored.slash(from: 0),
            let second = stored.slash(from: first + 1),
            second > first + 1,
            // A bucket can contain any byte, also a slash. But a scope's key ends with its recipient.
            stored.slash(from: second + 1) != nil
        else { return nil }
        return second + 1
    }
}
