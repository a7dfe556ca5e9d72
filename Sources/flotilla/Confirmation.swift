internal import Glibc
internal import Lifecycle

extension Invocation {
    /// Goes on where a person says yes, or has said so by `--yes`.
    func confirm(orElse nothingDone: String) throws {
        let isSaid = options["--yes"] != nil
        if !isSaid { print("Go on? Say yes: ", terminator: "") }
        // In a file, too, what is to be done stands before how far it is.
        fflush(nil)
        if isSaid { return }
        guard readLine() == "yes" else {
            throw Refusal(status: .usage, "\(nothingDone); --yes does it without asking")
        }
    }

    /// Beside what goes to standard output, which may be a program's.
    func tellProgress(_ text: String) {
        StandardError.tell(text)
    }
}
