import JSON

/// Returns the JSON value in a text that a test has written. It traps if the text is not JSON.
func raw(_ text: String) -> RawJSON {
    guard let raw = try? RawJSON(checking: Array(text.utf8), with: JSONReader()) else {
        preconditionFailure("\(text) is not JSON")
    }
    return raw
}
