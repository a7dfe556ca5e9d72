/// The ids of sends that Flotilla makes from another send: the id of that send, a dot, and a word.
///
/// - The cancel of a send `s` makes `s.undo`, which sends the state before `s` again.
/// - A resend of the failed jobs of `s` makes `s.` with the name of the call. It has the content of `s`.
package enum DerivedSendID {
    /// The end of the id of an undo.
    package static let undoSuffix = ".undo"

    /// Whether a send is a resend of failed jobs of `original`. A resend of the undo is not, because it has the content
    /// of another send.
    package static func isResend(_ id: String, of original: String) -> Bool {
        guard id.hasPrefix("\(original).") else { return false }
        // For example `.undo.run-7`. The dots around it make `.undo` a whole word.
        let words = id.dropFirst(original.count)
        let includesUndo = "\(words).".contains("\(undoSuffix).")
        return !includesUndo
    }
}
