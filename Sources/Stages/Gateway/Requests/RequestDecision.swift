internal import Catalog
internal import HTTPServer

/// The result of deciding a request, as a value. `RequestProcessor` carries it out.
enum RequestDecision {
    case answer(HTTPResponse)
    /// All records are stored, then the response is sent.
    case store([OutgoingRecord], HTTPResponse)
    /// The records are stored, then the request waits for the reply of another stage.
    case askStage(StageRequest)
    /// The catalog is read to its end, and the request is decided again. The second decision cannot be this one.
    case readCatalog
    /// The audit record is stored, then the catalog changes and this gateway reads the change, then the
    /// response is sent.
    case changeCatalog(CatalogChange, HTTPResponse)
}
