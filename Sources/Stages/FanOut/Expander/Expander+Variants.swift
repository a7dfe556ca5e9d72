internal import CatalogRecords
internal import Jobs
internal import Payloads

/// A push that many tokens can get: its content, and everything else that distinguishes it from the other pushes of a
/// transaction.
struct SharedPush: Hashable {
    /// The head, with any environment.
    var head: SheetHead
    var content: PushContent
    /// Seconds since 1970.
    var timestamp: Int64

    /// The content is not hashed, because it is long, and pushes with different contents nearly always differ in the rest.
    func hash(into hasher: inout Hasher) {
        hasher.combine(head)
        hasher.combine(timestamp)
    }
}

extension Expander {
    /// Returns the variant of a push. All tokens of this transaction with the same push share it.
    mutating func variant(of push: SharedPush) -> JobOutput.Variant {
        if let variant = variants[push] { return variant }
        return makeVariant(of: push, body: PayloadBuilder.body(for: push.content, timestamp: push.timestamp))
    }

    /// Returns nil if the push is too large. Its content was assembled from the parts of several sends.
    mutating func variantIfItFits(of push: SharedPush) -> JobOutput.Variant? {
        if let variant = variants[push] { return variant }
        if oversizePushes.contains(push) { return nil }
        let body = PayloadBuilder.body(for: push.content, timestamp: push.timestamp)
        guard PayloadRules.fits(push.content, body: body) else {
            oversizePushes.insert(push)
            return nil
        }
        return makeVariant(of: push, body: body)
    }

    private mutating func makeVariant(of push: SharedPush, body: [UInt8]) -> JobOutput.Variant {
        let variant = output.makeVariant(head: push.head, body: body)
        variants[push] = variant
        return variant
    }
}

extension App {
    /// The header `apns-topic` of the app's Live Activities.
    var pushTopic: String { bundleID + ".push-type.liveactivity" }
}
