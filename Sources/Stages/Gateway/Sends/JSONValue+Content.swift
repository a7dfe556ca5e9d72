internal import Identifiers
internal import JSON
internal import Payloads

// The readers of an app's content, which the bodies of several calls share. After a problem they return a placeholder.

extension JSONValue {
    /// The deepest nesting of arrays and objects in the app's own content. The limit leaves levels for each
    /// record that encloses the content.
    static let contentDepthMax = 16
    /// APNs's limit for `apns-collapse-id`.
    private static let collapseIDBytesMax = 64

    /// Returns the content of the app, unchanged.
    func contentObject() -> RawJSON {
        let content = rawJSON()
        if content.depth > Self.contentDepthMax {
            report("must be nested at most \(Self.contentDepthMax) levels deep", as: .outOfRange)
        }
        return content
    }

    /// Returns the name by which APNs replaces an earlier push that waits.
    func collapseID() -> String {
        let id = name()
        if id.utf8.count > Self.collapseIDBytesMax {
            report("must have at most \(Self.collapseIDBytesMax) bytes", as: .outOfRange)
        }
        return id
    }

    /// Returns the alert, and reports its unknown fields.
    func strictAlert() -> Alert {
        let alert = alert()
        let object = object()
        for text in [object["title"], object["body"]] where text.kind == .object {
            text.object().reportUnknownFields()
        }
        object.reportUnknownFields()
        return alert
    }
}
