internal import Glibc
internal import Lifecycle

extension Invocation {
    /// Goes on where a person says yes, or has said so by `--yes`.
    func confirm(orElse nothingDone: String) throws {
        if options["--yes"] != nil { return }
        print("Go on? Say yes: ", terminator: "")
        fflush(nil)
        guard readLine() == "yes" else {
            throw Refusal(status: .usage, "\(nothingDone); --yes does it without asking")
        }
    }

    /// Beside what goes to standard output, which may be a program's.
    func tellProgress(_ text: String) {
        StandardError.tell(text)
    }
}
