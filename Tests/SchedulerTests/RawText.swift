import JSON

/// Returns the JSON value in the text, which is a test's own.
func raw(_ text: String) -> RawJSON {
    guard let raw = try? RawJSON(checking: Array(text.utf8), with: JSONReader()) else {
        preconditionFailure("\(text) is not JSON")
    }
    return raw
}
