// Go github.com/thmeitz/ksqldb-go: the task is on standard input, the answers go to standard output.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/url"
	"os"
	"strings"

	ksqldb "github.com/thmeitz/ksqldb-go"
	"github.com/thmeitz/ksqldb-go/net"
)

type question struct {
	Sql   string
	Count int
}

type row map[string]any

var (
	task struct {
		Url                 string
		Statements, Inserts []string
		Live, Limited       question
		Pulls               []question
		Refused             question
		Status              string
		User, Password      string
	}
	client ksqldb.KsqldbClient
	ctx    = context.Background()
)

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func named(header ksqldb.Header, values ksqldb.Row) row {
	found := row{}
	for i, column := range header.Columns {
		found[column.Name] = values[i]
	}
	return found
}

// options has a login also in the URL: the client sends its own one with POST only.
func options() net.Options {
	if task.User == "" {
		return net.Options{BaseUrl: task.Url, AllowHTTP: true}
	}
	place, err := url.Parse(task.Url)
	must(err)
	place.User = url.UserPassword(task.User, task.Password)
	login := net.Credentials{Username: task.User, Password: task.Password}
	return net.Options{BaseUrl: place.String(), Credentials: login, ForceAttemptHTTP2: true}
}

func execute(sql string) ksqldb.KsqlResponseSlice {
	properties := ksqldb.PropertyMap{ksqldb.KSQL_STREAMS_AUTO_OFFSET_RESET: "earliest"}
	answer, err := client.Execute(ctx, ksqldb.ExecOptions{KSql: sql, StreamsProperties: properties})
	must(err)
	return *answer
}

// push calls a function with the header, and one with the count after each row.
func push(options ksqldb.QueryOptions, begun func(), came func(string, int)) []row {
	rows, headers, ended := make(chan ksqldb.Row), make(chan ksqldb.Header), make(chan error)
	go func() { ended <- client.Push(ctx, options, rows, headers) }()
	var header ksqldb.Header
	found := []row{}
	for {
		select {
		case header = <-headers:
			begun()
		case values := <-rows:
			found = append(found, named(header, values))
			came(header.QueryId, len(found))
		case err := <-ended:
			must(err)
			return found
		}
	}
}

func live() []row {
	return push(ksqldb.NewDefaultPushQueryOptions(task.Live.Sql), func() {
		for _, insert := range task.Inserts {
			execute(insert)
		}
	}, func(id string, count int) {
		if count == task.Live.Count {
			must(client.ClosePushQuery(ctx, id))
		}
	})
}

func limited() []row {
	options := ksqldb.NewDefaultPushQueryOptions(task.Limited.Sql)
	options.AutoOffsetReset(ksqldb.EARLIEST)
	return push(options, func() {}, func(string, int) {})
}

func pull(sql string) []row {
	header, payload, err := client.Pull(ctx, ksqldb.NewDefaultPullQueryOptions(sql))
	must(err)
	found := []row{}
	for _, values := range payload {
		found = append(found, named(header, values))
	}
	return found
}

func refused() string {
	_, err := client.Execute(ctx, ksqldb.ExecOptions{KSql: task.Refused.Sql})
	if refusal, ok := err.(ksqldb.ResponseError); ok {
		return refusal.Message
	}
	return "not refused"
}

// stores names the queries, of these clients, that have a store on a server which is alive.
func stores() []string {
	cluster, err := client.GetClusterStatus(ctx)
	must(err)
	found := []string{}
	for _, host := range cluster.ClusterStatus.Host {
		for query, has := range host.ActiveStandbyPerQuery {
			if host.HostAlive && len(has.ActiveStores) > 0 && len(has.ActivePartitions) > 0 && strings.HasPrefix(query, "CTAS_TOTALS_KSQLDB_GO") {
				found = append(found, query[:strings.LastIndex(query, "_")])
			}
		}
	}
	return found
}

func main() {
	answer := os.Stdout
	os.Stdout = os.Stderr // the client prints there
	must(json.NewDecoder(os.Stdin).Decode(&task))
	var err error
	client, err = ksqldb.NewClientWithOptions(options())
	must(err)
	defer client.Close()
	for _, statement := range task.Statements {
		execute(statement)
	}
	streams := []string{}
	for _, stream := range *execute("SHOW STREAMS;")[0].Stream {
		streams = append(streams, stream.Name)
	}
	answers := map[string]any{"streams": streams, "live": live(), "limited": limited()}
	pulls := [][][]row{}
	for _, asked := range task.Pulls {
		pulls = append(pulls, [][]row{pull(asked.Sql), pull(asked.Sql)})
	}
	answers["pulls"] = pulls
	answers["refused"] = refused()
	status, err := client.GetQueryStatus(ctx, "/"+task.Status)
	must(err)
	answers["status"] = status.Status
	answers["stores"] = stores()
	must(json.NewEncoder(answer).Encode(answers))
}
